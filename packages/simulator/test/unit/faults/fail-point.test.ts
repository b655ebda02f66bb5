import { Int32 } from 'bson';
import { describe, expect, it } from 'vitest';
import type { Doc, Value } from '../../../src/bson/value.js';
import { doc } from '../../../src/node/doc-fields.js';
import { FailPoint } from '../../../src/faults/fail-point.js';
import { FailPoints } from '../../../src/faults/fail-points.js';
import { internalRequest } from '../../../src/node/internal-request.js';

function set(point: FailPoint, mode: Value, data: Doc = new Map()): number {
  return (point.configure(doc(['configureFailPoint', 'p'], ['mode', mode], ['data', data])).get('count') as Int32)
    .value;
}

const times = (count: number): Doc => doc(['times', new Int32(count)]);

describe('a fail point', () => {
  it('acts the given number of times and counts across settings', () => {
    const point = new FailPoint();
    set(point, times(2));
    expect([point.enter(), point.enter(), point.enter()].map((data) => data !== undefined)).toEqual([
      true,
      true,
      false,
    ]);
    expect(set(point, 'alwaysOn')).toBe(2);
    point.enter();
    expect(set(point, 'off')).toBe(3);
    expect(point.enter()).toBeUndefined();
  });

  it('leaves out what its data does not mean', () => {
    const point = new FailPoint();
    set(point, 'alwaysOn', doc(['a', 1n.toString()]));
    expect(point.enter(() => false)).toBeUndefined();
    expect(point.enter()?.get('a')).toBe('1');
  });

  it.each([
    [undefined, 20],
    ['sometimes', 2],
    [true, 14],
    [times(-1), 2],
    [doc(['often', new Int32(1)]), 2],
    [doc(['skip', new Int32(1)]), 115],
    [doc(['activationProbability', new Int32(1)]), 115],
  ])('refuses mode %o', (mode, code) => {
    const body = doc(['configureFailPoint', 'p']);
    if (mode !== undefined) body.set('mode', mode);
    expect(() => new FailPoint().configure(body)).toThrow(expect.objectContaining({ code }) as Error);
  });

  it('lets wait until it has acted', async () => {
    const point = new FailPoint();
    set(point, 'alwaysOn');
    const waiting = point.entered(2, 1000);
    point.enter();
    point.enter();
    await waiting;
    await expect(point.entered(3, 1)).rejects.toMatchObject({ code: 50 });
  });
});

describe('the fail points of a node', () => {
  const request = (name: string, body: Doc = new Map()) =>
    internalRequest('admin', new Map([[name, 'suspendRangeDeletion'], ...body] as [string, Value][]));

  it('exist by kind', () => {
    expect(new FailPoints('shard').answer(request('configureFailPoint', doc(['mode', 'alwaysOn'])))).toBeInstanceOf(
      Map,
    );
    expect(() => new FailPoints('router').answer(request('configureFailPoint', doc(['mode', 'alwaysOn'])))).toThrow(
      expect.objectContaining({ code: 266 }) as Error,
    );
    expect(new FailPoints('shard').answer(request('find'))).toBeUndefined();
  });

  it('are set off together', () => {
    const points = new FailPoints('shard');
    void points.answer(request('configureFailPoint', doc(['mode', 'alwaysOn'])));
    expect(points.active('suspendRangeDeletion')).toBe(true);
    points.clear();
    expect(points.active('suspendRangeDeletion')).toBe(false);
  });
});
