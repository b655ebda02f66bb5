import { expect, it } from 'vitest';
import { toExtendedJson } from '../../extended-json.js';
import { compileExpression } from '../../../src/expression/evaluate.js';
import { makeVariables } from '../../../src/expression/variables.js';
import { doc, value } from '../json.js';

const context = { let: new Map([['v', 'let']]) };
const document = doc({
  a: 1,
  b: { $numberLong: '2' },
  s: 'Text',
  l: [3, 1, 2],
  o: { x: 1, y: { z: 2 } },
  m: [{ k: 1 }, { k: 2 }, {}],
  d: { $date: { $numberLong: '1700000000123' } },
  n: null,
});

it.each<[unknown, unknown]>([
  ['$o.y.z', 2],
  ['$m.k', [1, 2]],
  [{ $let: { vars: { l: [[{ k: 1 }], { k: 2 }] }, in: '$$l.k' } }, [2]],
  ['$missing', undefined],
  ['$$ROOT.a', 1],
  ['$$v', 'let'],
  [{ $literal: '$a' }, '$a'],
  [{ $add: ['$a', '$b'] }, { $numberLong: '3' }],
  [{ $add: ['$a', null] }, null],
  [{ $subtract: ['$d', { $date: { $numberLong: '1700000000000' } }] }, { $numberLong: '123' }],
  [{ $subtract: ['$d', { $numberDecimal: '2.5' }] }, { $date: { $numberLong: '1700000000121' } }],
  [{ $add: ['$d', { $numberDouble: '0.5' }] }, { $date: { $numberLong: '1700000000123' } }],
  [{ $add: ['$d', { $numberDouble: '1.5' }] }, { $date: { $numberLong: '1700000000124' } }],
  [{ $add: ['$d', { $numberDecimal: '1E30' }] }, { $date: { $numberLong: '-9223372036854775808' } }],
  [{ $add: [{ $numberLong: '9007199254740993' }, '$d'] }, { $date: { $numberLong: '9008899254741116' } }],
  [{ $divide: ['$a', 2] }, { $numberDouble: '0.5' }],
  [{ $mod: [7, 4] }, 3],
  [{ $round: [{ $numberDouble: '2.567' }, 1] }, { $numberDouble: '2.6' }],
  [{ $abs: -5 }, 5],
  [{ $round: [{ $numberDouble: '2.675' }, 2] }, { $numberDouble: '2.67' }],
  [{ $round: [25, -1] }, 20],
  [{ $add: [{ $numberDouble: '0.1' }, { $numberDouble: '0.2' }, { $numberDouble: '0.3' }] }, { $numberDouble: '0.6' }],
  [{ $add: [{ $numberDecimal: '1.10' }, { $numberDouble: '0.5' }] }, { $numberDecimal: '1.60' }],
  [{ $multiply: [{ $numberDecimal: '1.10' }, { $numberDouble: '2.0' }] }, { $numberDecimal: '2.2000000000000000' }],
  [{ $divide: [{ $numberDecimal: '1.10' }, 3] }, { $numberDecimal: '0.3666666666666666666666666666666667' }],
  [{ $mod: [{ $numberDecimal: '1.10' }, { $numberDouble: '1.5' }] }, { $numberDecimal: '1.10000000000000' }],
  [{ $pow: [2, { $numberLong: '9223372036854775807' }] }, { $numberDouble: 'Infinity' }],
  [{ $pow: [-1, -3] }, -1],
  [{ $or: [{ $size: '$s' }, 1] }, true],
  [{ $concat: ['$n', 5] }, null],
  [{ $zip: { inputs: ['$n', 5] } }, null],
  [{ $toUpper: 'aé' }, 'Aé'],
  [{ $setDifference: [[2, 1, 2], []] }, [2, 1]],
  [{ $gt: ['$missing', { $minKey: 1 }] }, true],
  [{ $cond: [{ $gt: ['$a', 0] }, 'yes', 'no'] }, 'yes'],
  [{ $ifNull: ['$n', '$missing', 'x'] }, 'x'],
  [{ $switch: { branches: [{ case: { $eq: ['$a', 1] }, then: 'one' }], default: 'other' } }, 'one'],
  [{ $and: ['$a', '$missing'] }, false],
  [{ $or: ['$a', '$missing'] }, true],
  [{ $cmp: ['$s', '$a'] }, 1],
  [{ $lt: ['$missing', null] }, true],
  [{ $concat: ['$s', '!'] }, 'Text!'],
  [{ $toLower: '$s' }, 'text'],
  [{ $substrBytes: ['$s', 1, 2] }, 'ex'],
  [{ $split: ['a-b', '-'] }, ['a', 'b']],
  [{ $trim: { input: '  x ' } }, 'x'],
  [{ $regexMatch: { input: '$s', regex: '^T' } }, true],
  [{ $size: '$l' }, 3],
  [{ $slice: ['$l', -2] }, [1, 2]],
  [{ $arrayElemAt: ['$l', -1] }, 2],
  [{ $mod: [5, { $numberDouble: '2.0' }] }, 1],
  [{ $in: [1, '$l'] }, true],
  [{ $concatArrays: ['$l', [9]] }, [3, 1, 2, 9]],
  [{ $map: { input: '$l', as: 'i', in: { $multiply: ['$$i', 2] } } }, [6, 2, 4]],
  [{ $filter: { input: '$l', cond: { $gt: ['$$this', 1] } } }, [3, 2]],
  [{ $reduce: { input: '$l', initialValue: 0, in: { $add: ['$$value', '$$this'] } } }, 6],
  [{ $let: { vars: { q: 2 }, in: { $add: ['$$q', '$a'] } } }, 3],
  [{ $max: '$l' }, 3],
  [{ $sum: ['$a', '$s', 2] }, 3],
  [{ $mergeObjects: ['$o', { x: 2 }] }, { x: 2, y: { z: 2 } }],
  [{ $objectToArray: { q: 1 } }, [{ k: 'q', v: 1 }]],
  [{ $arrayToObject: [[{ k: 'q', v: 1 }]] }, { q: 1 }],
  [{ $getField: { field: 'a', input: '$$ROOT' } }, 1],
  [{ $setField: { field: 'x.y', input: '$o', value: 5 } }, { x: 1, y: { z: 2 }, 'x.y': 5 }],
  [{ $type: '$b' }, 'long'],
  [{ $type: '$missing' }, 'missing'],
  [{ $toString: '$b' }, '2'],
  [{ $toInt: '17' }, 17],
  [{ $year: '$d' }, 2023],
  [{ $dateToString: { date: '$d', format: '%Y-%m-%d' } }, '2023-11-14'],
  [{ q: '$a', r: '$missing' }, { q: 1 }],
  [
    ['$a', '$missing'],
    [1, null],
  ],
])('%j', (expression, expected) => {
  const result = compileExpression(value(expression), context)(makeVariables(document, context));
  expect(result === undefined ? undefined : toExtendedJson(result)).toEqual(
    expected === undefined ? undefined : toExtendedJson(value(expected)),
  );
});

it.each<[unknown, number]>([
  [{ $nope: 1 }, 168],
  [{ $eq: [1] }, 16020],
  ['$a..b', 15998],
  [{ $setField: { field: '$price', input: '$$ROOT', value: 1 } }, 4161108],
])('refuses %j', (expression, code) => {
  expect(() => compileExpression(value(expression))).toThrow(expect.objectContaining({ code }) as Error);
});

const date = (text: string): unknown => ({ $date: { $numberLong: String(Date.parse(text)) } });
const long = (number: number): unknown => ({ $numberLong: String(number) });

it.each<[unknown, unknown]>([
  [{ $dateAdd: { startDate: date('2021-01-31T10:00:00Z'), unit: 'month', amount: 1 } }, date('2021-02-28T10:00:00Z')],
  [
    { $dateSubtract: { startDate: date('2021-01-01T00:00:00Z'), unit: 'hour', amount: 25 } },
    date('2020-12-30T23:00:00Z'),
  ],
  [
    { $dateDiff: { startDate: date('2020-12-31T23:59:59Z'), endDate: date('2021-01-01T00:00:00Z'), unit: 'year' } },
    long(1),
  ],
  [
    { $dateDiff: { startDate: date('2021-01-02T00:00:00Z'), endDate: date('2021-01-03T00:00:00Z'), unit: 'week' } },
    long(1),
  ],
  [{ $dateTrunc: { date: date('2021-05-17T10:11:12Z'), unit: 'quarter' } }, date('2021-04-01T00:00:00Z')],
  [{ $dateTrunc: { date: date('2021-05-17T10:11:12Z'), unit: 'minute', binSize: 15 } }, date('2021-05-17T10:00:00Z')],
  [{ $dateTrunc: { date: date('2021-05-19T10:11:12Z'), unit: 'week' } }, date('2021-05-16T00:00:00Z')],
  [{ $dateFromParts: { year: 2021, month: 14, day: 1 } }, date('2022-02-01T00:00:00Z')],
  [
    { $dateToParts: { date: date('2021-01-01T05:06:07Z'), iso8601: true } },
    { isoWeekYear: 2020, isoWeek: 53, isoDayOfWeek: 5, hour: 5, minute: 6, second: 7, millisecond: 0 },
  ],
  [
    { $dateToString: { date: date('2021-07-01T00:30:00Z'), format: '%d.%m.%Y %H:%M %z %j %u' } },
    '01.07.2021 00:30 +0000 182 4',
  ],
  [{ $dateFromString: { dateString: '2021-02-03T04:05:06.789Z' } }, date('2021-02-03T04:05:06.789Z')],
  [{ $hour: date('2021-01-01T19:00:00Z') }, 19],
  [{ $isoWeek: date('2021-01-01T00:00:00Z') }, 53],
  [{ $week: date('2021-01-03T00:00:00Z') }, 1],
  [{ $convert: { input: '12', to: 'int' } }, 12],
  [{ $convert: { input: 'x', to: 'int', onError: 'bad' } }, 'bad'],
  [{ $convert: { input: null, to: 'int', onNull: 0 } }, 0],
  [{ $toLong: '9007199254740993' }, { $numberLong: '9007199254740993' }],
  [{ $toDecimal: '1.10' }, { $numberDecimal: '1.10' }],
  [{ $toBool: '' }, true],
  [{ $regexFind: { input: 'aéb12', regex: '(b)(\\d)' } }, { match: 'b1', idx: 2, captures: ['b', '1'] }],
  [
    { $regexFindAll: { input: 'a1b2', regex: '\\d' } },
    [
      { match: '1', idx: 1, captures: [] },
      { match: '2', idx: 3, captures: [] },
    ],
  ],
  [
    { $zip: { inputs: [[1, 2], ['a']], useLongestLength: true } },
    [
      [1, 'a'],
      [2, null],
    ],
  ],
  [{ $indexOfBytes: ['aéb', 'b'] }, 3],
  [{ $pow: [2, 10] }, 1024],
  [{ $pow: [2, 40] }, long(2 ** 40)],
  [{ $stdDevPop: [[2, 4, 4, 4, 5, 5, 7, 9]] }, { $numberDouble: '2.0' }],
  [{ $stdDevPop: [[{ $numberLong: '9007199254740993' }, 1]] }, { $numberDouble: '4503599627370495.0' }],
])('%j gives %j', (expression, expected) => {
  const result = compileExpression(value(expression), context)(makeVariables(document, context));
  expect(JSON.stringify(toExtendedJson(result ?? null))).toBe(JSON.stringify(toExtendedJson(value(expected))));
});

it.each<[unknown, number]>([
  [{ $convert: { input: 'x', to: 'int' } }, 241],
  [{ $toInt: { $numberLong: '3000000000' } }, 241],
  [{ $subtract: ['$d', { $numberLong: '-9223372036854775807' }] }, 159],
  [{ $subtract: ['$d', { $numberDecimal: '1E30' }] }, 159],
  [{ $subtract: ['$d', { $numberDouble: '1E30' }] }, 31109],
  [{ $add: ['$d', { $numberLong: '9223372036854775807' }] }, 15],
  [{ $add: ['$d', { $numberDouble: 'NaN' }] }, 15],
  [{ $hour: { date: date('2021-01-01T00:00:00Z'), timezone: '-05:00' } }, 115],
  [{ $cond: { if: 1, then: 2, else: 3 } }, 115],
  [{ $convert: { input: 1, to: 16 } }, 115],
  [{ $dateFromParts: { isoWeekYear: 2020 } }, 115],
  [{ $dateFromString: { dateString: 'x', onError: 'no' } }, 115],
  [{ $dateToString: { date: null, onNull: 1 } }, 115],
  [{ $indexOfArray: [[1], 1, 0] }, 115],
  [{ $regexMatch: { input: 'a', regex: '(?i)A' } }, 115],
  [{ $regexMatch: { input: 'a', regex: 'A', options: 'i' } }, 115],
  [{ $zip: { inputs: [[1]], useLongestLength: true, defaults: [0] } }, 115],
  [{ $dateTrunc: { date: date('2021-05-19T10:11:12Z'), unit: 'week', startOfWeek: 'monday' } }, 115],
  [{ $dateFromString: { dateString: '03/02/2021', format: '%d/%m/%Y' } }, 115],
  [{ $dateAdd: { startDate: date('2021-01-01T00:00:00Z'), unit: 'moon', amount: 1 } }, 5439014],
])('%j is refused with %i', (expression, code) => {
  expect(() => compileExpression(value(expression), context)(makeVariables(document, context))).toThrow(
    expect.objectContaining({ code }),
  );
});
