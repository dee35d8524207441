/* Gravity compensation in C, without and with a pushing tool: reads q, prints the torques.
   13_c_controller.py exports the functions, builds this program with them and runs it. */
#include <stdio.h>

#include "arm.h"

int main(void)
{
    double q[ARM_NQ], gravity[ARM_NV], jacobian[6 * ARM_NV];
    for (int k = 0; k < ARM_NQ; k++)
        if (scanf("%lf", &q[k]) != 1)
            return 1;
    arm_gravity_force(q, gravity);
    arm_tool_jacobian(q, jacobian);
    for (int k = 0; k < ARM_NV; k++) {
        const double push = -10.0 * jacobian[2 * ARM_NV + k]; /* J^T f, with 10 N downwards */
        printf("%.17g %.17g\n", gravity[k], gravity[k] + push);
    }
    return 0;
}
