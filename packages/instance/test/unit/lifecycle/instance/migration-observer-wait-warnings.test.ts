import { expect, it } from 'vitest';
import { awaits, waitWarnings } from '../../../../src/lifecycle/instance/migration-observer.js';

const waits = [
  { from: 'cluster0 router', what: 'find of shop.orders' },
  { from: 'cluster0 router', what: 'the change stream' },
  { from: 'cluster1 router', what: 'update of shop.orders' },
];

it('names who does not answer, what is missing, and the members that do not answer', () => {
  const away = new Map([['cluster0', ['a:1 of s0']]]);
  expect(waitWarnings(waits, away)).toEqual([
    {
      name: 'waitingForAnswer',
      description:
        'Waiting for cluster0 router (find of shop.orders, the change stream), cluster1 router (update of ' +
        'shop.orders). Members that do not answer: a:1 of s0. Convoy repeats calls without an answer, and opens ' +
        'streams anew that stand still.',
    },
  ]);
  expect(waitWarnings(waits.slice(2), new Map())[0]?.description).not.toContain('Members');
});

it('is none while nothing is waited for', () => {
  expect(waitWarnings([], new Map([['cluster0', ['a:1']]]))).toEqual([]);
});

it('belongs to the cluster that has not answered', () => {
  expect(['cluster0', 'cluster1', 'cluster'].map((name) => awaits(waits.slice(0, 2), name))).toEqual([
    true,
    false,
    false,
  ]);
});
