import { Decimal128, Double, Int32, Long } from 'bson';
import { addDecimals, divideDecimals, wholeDecimalOfDouble } from './decimal-arithmetic.js';
import { longOfDecimal } from './whole-number.js';
import { longValue, type NumberValue } from './exact-number.js';

/** Longs above this are added in two halves, each of which a double holds exactly. */
const HALF = 2n ** 32n;

/**
 * A sum as servers compute it: doubles with twice their digits, decimals separately, and whole numbers exactly. The
 * widest type among the numbers decides the type of the sum. A sum that fits no long is a double.
 */
export class NumberTotal {
  #whole = 0n;
  #doubles = new CompensatedSum();
  #decimal = Decimal128.fromString('0');
  #type: NumberValue['_bsontype'] = 'Int32';
  #count = 0;

  /** @returns itself */
  add(value: NumberValue): this {
    this.#count += 1;
    if (value._bsontype === 'Decimal128') this.#decimal = addDecimals(this.#decimal, value);
    else if (value._bsontype === 'Double') this.#doubles.add(value.value);
    else this.#addWhole(value._bsontype === 'Long' ? longValue(value) : BigInt(value.value));
    if (widths[value._bsontype] > widths[this.#type]) this.#type = value._bsontype;
    return this;
  }

  sum(): NumberValue {
    if (this.#type === 'Decimal128') return this.#asDecimal();
    if (this.#type === 'Double' || this.#whole !== BigInt.asIntN(64, this.#whole))
      return new Double(this.#doubles.value);
    return this.#type === 'Int32' && this.#whole === BigInt.asIntN(32, this.#whole)
      ? new Int32(Number(this.#whole))
      : Long.fromBigInt(this.#whole);
  }

  /** The sum as the nearest long; halves go away from zero. Null where it does not fit. */
  rounded(): bigint | null {
    if (this.#type === 'Decimal128') return longOfDecimal(this.#asDecimal());
    const sum = this.#type === 'Double' ? this.#doubles.rounded() : this.#whole;
    return sum === null || sum !== BigInt.asIntN(64, sum) ? null : sum;
  }

  /** The mean. Null for no numbers. */
  average(): NumberValue | null {
    if (this.#count === 0) return null;
    return this.#type === 'Decimal128'
      ? divideDecimals(this.#asDecimal(), Decimal128.fromString(String(this.#count)))
      : new Double(this.#doubles.value / this.#count);
  }

  #addWhole(value: bigint): void {
    this.#whole += value;
    const low = BigInt.asUintN(32, value);
    this.#doubles.add(Number(((value - low) / HALF) * HALF));
    this.#doubles.add(Number(low));
  }

  #asDecimal(): Decimal128 {
    return addDecimals(this.#decimal, this.#doubles.decimal());
  }
}

const widths = { Int32: 0, Long: 1, Double: 2, Decimal128: 3 } as const;

/** The sum of numbers of any types. */
export function totalOf(values: Iterable<NumberValue>): NumberTotal {
  const total = new NumberTotal();
  for (const value of values) total.add(value);
  return total;
}

/** A number as a plain sum of one. A decimal where the others are. */
class CompensatedSum {
  #sum = 0;
  #rest = 0;
  /** The sum of the numbers that are not finite. */
  #plain = 0;

  get value(): number {
    return Number.isNaN(this.#sum) ? this.#plain : this.#sum;
  }

  add(value: number): void {
    this.#plain += value;
    const [sum, lost] = exactSum(this.#sum, value);
    [this.#sum, this.#rest] = exactSum(sum, this.#rest + lost);
  }

  rounded(): bigint | null {
    if (!Number.isFinite(this.value)) return null;
    const near = awayFromZero(this.#sum);
    return BigInt(near) + BigInt(awayFromZero(this.#sum - near + this.#rest));
  }

  decimal(): Decimal128 {
    return Number.isNaN(this.#sum)
      ? wholeDecimalOfDouble(this.#plain)
      : addDecimals(wholeDecimalOfDouble(this.#sum), wholeDecimalOfDouble(this.#rest));
  }
}

/** A sum of two doubles, and its rounding error. */
function exactSum(a: number, b: number): [sum: number, lost: number] {
  const sum = a + b;
  const other = sum - a;
  return [sum, a - (sum - other) + (b - other)];
}

function awayFromZero(value: number): number {
  return Math.sign(value) * Math.round(Math.abs(value));
}
