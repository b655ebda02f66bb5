import { Timestamp } from 'bson';
import { expect, it } from 'vitest';
import { toExtendedJson } from '../../../src/bson/extended-json.js';
import { DateTime } from '../../../src/bson/value.js';
import { compileExpression } from '../../../src/expression/evaluate.js';
import { makeVariables } from '../../../src/expression/variables.js';
import { doc, value } from '../json.js';

const context = { now: new DateTime(0n), clusterTime: new Timestamp({ t: 5, i: 1 }), let: new Map([['v', 'let']]) };
const document = doc({ a: 1, b: { $numberLong: '2' }, s: 'Text', l: [3, 1, 2], o: { x: 1, y: { z: 2 } }, m: [{ k: 1 }, { k: 2 }, {}], d: { $date: { $numberLong: '1700000000123' } }, n: null });

it.each<[unknown, unknown]>([
  ['$o.y.z', 2],
  ['$m.k', [1, 2]],
  ['$missing', undefined],
  ['$$ROOT.a', 1],
  ['$$v', 'let'],
  ['$$NOW', { $date: { $numberLong: '0' } }],
  ['$$CLUSTER_TIME', { $timestamp: { t: 5, i: 1 } }],
  [{ $literal: '$a' }, '$a'],
  [{ $add: ['$a', '$b'] }, { $numberLong: '3' }],
  [{ $add: ['$a', null] }, null],
  [{ $subtract: ['$d', { $date: { $numberLong: '1700000000000' } }] }, { $numberLong: '123' }],
  [{ $divide: ['$a', 2] }, { $numberDouble: '0.5' }],
  [{ $mod: [7, 4] }, 3],
  [{ $round: [{ $numberDouble: '2.567' }, 1] }, { $numberDouble: '2.6' }],
  [{ $abs: -5 }, 5],
  [{ $cond: [{ $gt: ['$a', 0] }, 'yes', 'no'] }, 'yes'],
  [{ $cond: { if: '$n', then: 1, else: 2 } }, 2],
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
  [{ $regexMatch: { input: '$s', regex: '^t', options: 'i' } }, true],
  [{ $size: '$l' }, 3],
  [{ $slice: ['$l', -2] }, [1, 2]],
  [{ $arrayElemAt: ['$l', -1] }, 2],
  [{ $in: [1, '$l'] }, true],
  [{ $concatArrays: ['$l', [9]] }, [3, 1, 2, 9]],
  [{ $map: { input: '$l', as: 'i', in: { $multiply: ['$$i', 2] } } }, [6, 2, 4]],
  [{ $filter: { input: '$l', cond: { $gt: ['$$this', 1] } } }, [3, 2]],
  [{ $reduce: { input: '$l', initialValue: 0, in: { $add: ['$$value', '$$this'] } } }, 6],
  [{ $let: { vars: { q: 2 }, in: { $add: ['$$q', '$a'] } } }, 3],
  [{ $max: '$l' }, 3],
  [{ $sum: ['$a', '$s', 2] }, 3],
  [{ $setUnion: ['$l', [1, 5]] }, [1, 2, 3, 5]],
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
  [['$a', '$missing'], [1, null]],
])('%j', (expression, expected) => {
  const result = compileExpression(value(expression), context)(makeVariables(document, context));
  expect(result === undefined ? undefined : toExtendedJson(result)).toEqual(expected === undefined ? undefined : toExtendedJson(value(expected)));
});

it.each<[unknown, number]>([
  [{ $nope: 1 }, 168],
  [{ $eq: [1] }, 16020],
  ['$a..b', 15998],
  [{ $setField: { field: '$price', input: '$$ROOT', value: 1 } }, 4161108],
])('refuses %j', (expression, code) => {
  expect(() => compileExpression(value(expression))).toThrow(expect.objectContaining({ code }) as Error);
});
