import { beforeEach, describe, expect, it } from 'vitest';
import { UnknownCollections } from '../../../../src/lifecycle/task/apply-stage.js';
import { insertOf, never, settled } from '../../model/parts.js';

type Reported = { uuid: string; database: string; name: string }[];

let saved: Reported[];
let answers: (() => void)[];
let unknown: UnknownCollections;

beforeEach(() => {
  [saved, answers] = [[], []];
  unknown = unknownOf([]);
});

function unknownOf(reported: Reported): UnknownCollections {
  return new UnknownCollections(reported, (announced) => {
    saved.push(announced);
    return new Promise((resolve) => answers.push(resolve));
  });
}

function saw(uuid: string, time: bigint, name = 'new'): void {
  unknown.saw('shop', name, { ...insertOf(1, time), uuid });
}

async function answered(): Promise<void> {
  answers.shift()?.();
  await settled();
}

describe('collections that nobody follows', () => {
  it('are reported once each, and several at once in one write', async () => {
    saw('a', 5n);
    saw('b', 6n);
    saw('a', 7n);
    void unknown.run(never);
    await settled();
    await answered();
    saw('a', 8n);
    await settled();
    expect(saved.map((announced) => announced.map(({ uuid }) => uuid))).toEqual([['a', 'b']]);
  });

  it('hold the checkpoint below their first event until that is durable', async () => {
    saw('a', 5n);
    expect(unknown.oldestWaiting).toBe(5n);
    void unknown.run(never);
    await settled();
    expect(unknown.oldestWaiting).toBe(5n);
    await answered();
    expect([unknown.oldestWaiting, unknown.size]).toEqual([null, 1]);
  });

  it('are no longer reported once the journal has them', async () => {
    unknown = unknownOf([{ uuid: 'a', database: 'shop', name: 'new' }]);
    expect(unknown.size).toBe(1);
    unknown.resolve('a');
    expect(unknown.size).toBe(0);
    saw('b', 6n);
    void unknown.run(never);
    await settled();
    expect(saved.map((announced) => announced.map(({ uuid }) => uuid))).toEqual([['b']]);
  });

  it('that the journal gets while they are being reported are done with', async () => {
    saw('a', 5n);
    void unknown.run(never);
    await settled();
    unknown.resolve('a');
    await answered();
    expect(unknown.size).toBe(0);
  });

  it.each(['tmp.agg_out.0a1b', 'tmpXyZ12.convertToCapped.orders', 'tmpab1cd.renameCollection'])(
    'are not those that a server fills and renames: %s',
    (name) => {
      saw('a', 5n, name);
      expect(unknown.size).toBe(0);
    },
  );

  it('are at most a thousand in the record; the others wait, and the checkpoint with them', async () => {
    for (let uuid = 0; uuid < 1001; uuid += 1) saw(String(uuid), BigInt(uuid));
    void unknown.run(never);
    await settled();
    await answered();
    expect([saved[0]?.length, unknown.oldestWaiting]).toEqual([1000, 1000n]);
    unknown.resolve('3');
    await settled();
    expect(saved[1]?.at(-1)?.uuid).toBe('1000');
  });
});
