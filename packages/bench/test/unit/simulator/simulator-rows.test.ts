import { expect, it } from 'vitest';
import { besideEcho, changeRows, openingRows } from '../../../src/simulator/simulator-rows.js';
import type { StepResult } from '../../../src/simulator/load-order.js';

const result = (seconds: number, serverCpu_seconds: number): StepResult => ({
  documents: 1_000,
  bytes: 1_000_000,
  seconds,
  clientCpu_seconds: 0.01,
  serverCpu_seconds,
  serverMemoryBytes: 1,
});

it('compares each round with its echo and uses the median', () => {
  const pairs = [
    { echo: result(1, 0), simulator: result(2, 0.005) },
    { echo: result(10, 0), simulator: result(10, 0.009) },
    { echo: result(1, 0), simulator: result(4, 0.02) },
  ];
  const rows = besideEcho({ kind: 'insert', key: 'hashed', use: 'raw' }, pairs);
  const valueOf = (metric: string) => rows.find((row) => row.metric === metric);
  expect(valueOf('part of the echo’s throughput')?.value).toBe(0.5);
  expect(valueOf('CPU of the client per document')?.value).toBeCloseTo(10);
  expect(valueOf('CPU of the simulator per document')).toMatchObject({ goal: '<= 10', met: true });
  expect(valueOf('CPU of the simulator per document')?.value).toBeCloseTo(9);
  expect(valueOf('CPU of the simulator')?.value).toBeCloseTo(9);
});

it('has goals for events of a shard and for opening', () => {
  expect(changeRows({ kind: 'stream', events: 'update', from: 'shard' }, [result(0.1, 0)])[0]).toMatchObject({
    metric: 'events',
    value: 10_000,
    met: false,
  });
  expect(changeRows({ kind: 'stream', events: 'update', from: 'router' }, [result(0.1, 0)])[0]).not.toHaveProperty(
    'goal',
  );
  expect(openingRows([{ process_seconds: 0.4, inProcess_seconds: 2 }]).map(({ met }) => met)).toEqual([true, false]);
});
