import type { Collection } from 'mongodb';
import { expect, it } from 'vitest';
import { sampled } from '../../../../../test/seed.js';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from './equal-databases.js';

interface Line {
  _id: number;
  text: string;
}

const releases = ['5.0' as const, ...sampled(['6.0', '8.0'] as const)];

/** Lines at the start: more than two of the collections hold. */
const loaded = 499;

/** Documents of capped collections keep their size. */
function textOf(line: number): string {
  return `line ${String(line).padStart(4, '0')}`;
}

function lineOf(line: number): Line {
  return { _id: line % 2 === 0 ? line : -line, text: textOf(line) };
}

async function append(lines: Collection<Line>, from: number, to: number): Promise<void> {
  for (let line = from; line < to; line += 1) await lines.insertOne(lineOf(line));
}

it.each(releases)(
  'capped collections keep order, size and count, while they are filled beyond their bounds (%s)',
  async (release) => {
    await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: release, cluster1: release });
    const logs = fixture.cluster0.client.db('logs');
    const bySize = await logs.createCollection<Line>('by_size', { capped: true, size: 16_384 });
    const byCount = await logs.createCollection<Line>('by_count', { capped: true, size: 100_096, max: 50 });
    const roomy = await logs.createCollection<Line>('roomy', { capped: true, size: 1_000_192 });
    await logs.createCollection('empty', { capped: true, size: 4_096 });
    await byCount.createIndexes([{ key: { text: 1 }, unique: true }]);
    const all = [bySize, byCount, roomy];
    for (const lines of all) await lines.insertMany(Array.from({ length: loaded }, (_, index) => lineOf(index + 1)));
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    for (const lines of all) await append(lines, loaded + 1, loaded + 31);
    await instance.untilCanCommit();
    for (const lines of all) await append(lines, loaded + 31, loaded + 91);
    await roomy.updateMany({ _id: { $lt: 0 } }, { $set: { text: 'odd lines' } });
    await instance.accepted('commit');
    await instance.untilState('COMMITTED');

    await expectEqualDatabases(fixture, 'logs');
    expect(await fixture.cluster1.client.db('logs').collection('by_count').countDocuments()).toBe(50);
    const copied = fixture.cluster1.client.db('logs').collection<Line>('by_count');
    await append(copied, loaded + 91, loaded + 92);
    expect(await copied.countDocuments()).toBe(50);
  },
);
