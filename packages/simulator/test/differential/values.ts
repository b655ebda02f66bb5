import type { Json } from '../conformance/corpus-file.js';
import type { Random } from './random.js';

export type Fields = Record<string, Json>;

/** Field names: few, so that commands meet what documents have. */
export const names = ['a', 'b', 'c', 'd'] as const;

/** Values without others in them, of every type that can be stored. */
export function scalar(random: Random): Json {
  return random.weighted<Json>([
    [8, () => random.int(-2, 5)],
    [
      2,
      () => ({
        $numberLong: random.pick(['0', '1', '3', '-2', '4294967296', '9007199254740993', '9223372036854775807']),
      }),
    ],
    [
      3,
      () => ({
        $numberDouble: random.pick([
          '0.0',
          '-0.0',
          '1.0',
          '1.5',
          '-2.0',
          '3.0',
          'NaN',
          'Infinity',
          '-Infinity',
          '1e+300',
        ]),
      }),
    ],
    [1, () => ({ $numberDecimal: random.pick(['0', '1', '1.0', '1.5', '-2', 'NaN', 'Infinity', '1E+3']) })],
    [4, () => random.pick(['', 'a', 'b', 'A', 'ab', 'a.b', '$a', 'é', '10', 'abc def'])],
    [2, () => random.chance(0.5)],
    [2, () => null],
    [1, () => ({ $date: { $numberLong: random.pick(['0', '1600000000000', '-1', '1577836800000']) } })],
    [1, () => ({ $timestamp: { t: random.int(1, 3), i: random.int(0, 2) } })],
    [1, () => ({ $oid: random.pick(['000000000000000000000001', '0000000a0000000000000002']) })],
    [1, () => ({ $binary: { base64: random.pick(['', 'AQI=', '/w==']), subType: random.pick(['00', '05']) } })],
    [0.5, () => ({ $regularExpression: { pattern: random.pick(['^a', 'b']), options: random.pick(['', 'i']) } })],
    [0.3, () => ({ $minKey: 1 })],
    [0.3, () => ({ $maxKey: 1 })],
    [0.2, () => ({ $symbol: 'a' })],
    [0.2, () => ({ $code: 'x' })],
  ]);
}

/** A number of any of the four types, mostly small. */
export function number(random: Random): Json {
  return random.weighted<Json>([
    [6, () => random.int(-2, 5)],
    [1, () => ({ $numberLong: random.pick(['0', '2', '-3', '9223372036854775807', '2147483648']) })],
    [2, () => ({ $numberDouble: random.pick(['0.0', '0.5', '2.0', '-1.5', 'NaN', 'Infinity', '-0.0']) })],
    [1, () => ({ $numberDecimal: random.pick(['0', '1.10', '-2', '3E+2']) })],
  ]);
}

/** Any value, documents and arrays among them up to a depth. */
export function value(random: Random, depth = 2): Json {
  if (depth === 0) return scalar(random);
  return random.weighted<Json>([
    [6, () => scalar(random)],
    [2, () => array(random, depth - 1)],
    [2, () => fields(random, depth - 1)],
  ]);
}

export function array(random: Random, depth = 1): Json[] {
  return random.list(0, 3, () => value(random, depth));
}

/** A document without `_id`; now and then with a name that is a number. */
export function fields(random: Random, depth = 2): Fields {
  const used = random.some<string>(random.chance(0.1) ? [...names, '0', '1'] : names, random.int(0, 3));
  return Object.fromEntries(used.map((name) => [name, value(random, depth)]));
}

/** A dotted path that documents may have, through arrays too. */
export function path(random: Random, lengthMax = 3): string {
  const parts = random.list(
    1,
    random.weighted([
      [5, () => 1],
      [3, () => Math.min(2, lengthMax)],
      [1, () => lengthMax],
    ]),
    () =>
      random.weighted<string>([
        [8, () => random.pick(names)],
        [1, () => random.pick(['0', '1', '2'])],
      ]),
  );
  return [random.pick(names), ...parts.slice(1)].join('.');
}
