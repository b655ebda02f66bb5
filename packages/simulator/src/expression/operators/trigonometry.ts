import { isNumber, toNumber } from '../../bson/exact-number.js';
import { typeName } from '../../bson/type-of.js';
import { located } from '../../query/query-error.js';
import { doubleFunction } from '../double-function.js';
import { fixed, type OperatorCompiler, type OperatorTable } from '../operator.js';
import { isNullish } from '../truth.js';

const DEGREES = 180;

/** Angles and hyperbolic functions. */
export const trigonometryOperators: OperatorTable = {
  $sin: ofAngle(Math.sin, -Infinity, Infinity, false),
  $cos: ofAngle(Math.cos, -Infinity, Infinity, false),
  $tan: ofAngle(Math.tan, -Infinity, Infinity, false),
  $asin: ofAngle(Math.asin, -1, 1),
  $acos: ofAngle(Math.acos, -1, 1),
  $atan: ofAngle(Math.atan),
  $sinh: ofAngle(Math.sinh),
  $cosh: ofAngle(Math.cosh),
  $tanh: ofAngle(Math.tanh),
  $asinh: ofAngle(Math.asinh),
  $acosh: ofAngle(Math.acosh, 1),
  $atanh: ofAngle(Math.atanh, -1, 1),
  $degreesToRadians: ofAngle((degrees) => (degrees * Math.PI) / DEGREES),
  $radiansToDegrees: ofAngle((radians) => (radians * DEGREES) / Math.PI),
  $atan2: fixed(2, ([y, x], name) => {
    if (isNullish(y) || isNullish(x)) return null;
    if (!isNumber(y) || !isNumber(x))
      throw located(51044, `${name} only supports numeric types, not ${typeName(y)} and ${typeName(x)}`);
    return doubleFunction(name, Math.atan2, y, x);
  }),
};

/** @param inclusive whether the bounds themselves are allowed */
function ofAngle(
  apply: (value: number) => number,
  least = -Infinity,
  greatest = Infinity,
  inclusive = true,
): OperatorCompiler {
  return fixed(1, ([value], name) => {
    if (isNullish(value)) return null;
    if (!isNumber(value)) throw located(28765, `${name} only supports numeric types, not ${typeName(value)}`);
    const number = toNumber(value);
    const outside = number < least || number > greatest || (!inclusive && Math.abs(number) === Infinity);
    if (outside)
      throw located(
        50989,
        `cannot apply ${name} to ${value.toString()}, value must be in ${inclusive ? '[' : '('}${least},${greatest}${inclusive ? ']' : ')'}`,
      );
    return doubleFunction(name, apply, value);
  });
}
