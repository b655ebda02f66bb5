import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Int32 } from 'bson';
import type { Doc, Value } from '../../../src/bson/value.js';
import { drawn, isFullRun } from '../../../../../test/seed.js';
import { type Json, recordedReleases } from '../../conformance/corpus-file.js';
import type { Command, Family } from '../../differential/case.js';
import { openSimulated } from '../../differential/clusters.js';
import { families } from '../../differential/families.js';
import type { Pair } from '../../differential/play-case.js';
import { runFamily, type Shrunk } from '../../differential/run-family.js';
import type { Nodes } from '../../differential/side.js';
import { fields } from '../../differential/values.js';

/** A recorded release, by the seed. */
const [release = '8.0'] = drawn(recordedReleases);
let pair: Pair;
let withUsers: Pair;

beforeAll(async () => {
  pair = { real: await openSimulated(release), tried: await openSimulated(release) };
  withUsers = {
    real: await openSimulated(release, { access: true }),
    tried: await openSimulated(release, { access: true }),
  };
});

afterAll(() => Promise.all([pair, withUsers].flatMap(({ real, tried }) => [real.close(), tried.close()])));

describe.each(families)('$name', (family) => {
  test(`a simulator of ${release} answers as another one does`, async () => {
    const found: Shrunk[] = [];
    const score = await runFamily(
      family.access === true ? withUsers : pair,
      family,
      { seed: 1, steps: isFullRun ? 100 : 50, tries: 120 },
      (shrunk) => found.push(shrunk),
    );
    expect(found.map(({ found: { at, differences } }) => ({ at, differences }))).toEqual([]);
    expect(score.equal + score.refused).toBe(score.commands);
    expect(score.failed).toBeLessThan(score.equal);
  });
});

test('a wrong answer is found and made small', async () => {
  const found: Shrunk[] = [];
  const score = await runFamily(
    { real: pair.real, tried: withWrongCount(pair.tried) },
    counted,
    { seed: 3, steps: 60, tries: 120 },
    (shrunk) => found.push(shrunk),
  );
  expect(score.differ).toBeGreaterThan(0);
  expect(found.map(({ commands }) => commands.map(({ command }) => command))).toEqual([
    [{ insert: 'c', documents: [{}, {}] }, { count: 'c' }],
  ]);
});

const onRouter = (command: Json): Command => ({ on: 'router', db: 'planted', command });

const counted: Family = {
  name: 'counted',
  fixture: [onRouter({ dropDatabase: 1 })],
  reset: [onRouter({ delete: 'c', deletes: [{ q: {}, limit: 0 }] })],
  commands: (random) => [
    ...random.list(0, 3, () => onRouter({ find: 'c' })),
    ...random.list(0, 2, () => onRouter({ insert: 'c', documents: random.list(1, 3, () => fields(random)) })),
    onRouter({ count: 'c', query: {} }),
  ],
};

/** Counts two documents and more wrongly. */
function withWrongCount(nodes: Nodes): Nodes {
  const { router } = nodes.clients;
  const run = async (db: string, command: Doc): Promise<Doc> => {
    const reply = await router.run(db, command);
    const counted: Value | undefined = command.has('count') ? reply.get('n') : undefined;
    return counted instanceof Int32 && counted.value >= 2
      ? new Map(reply).set('n', new Int32(counted.value + 1))
      : reply;
  };
  return { ...nodes, clients: { ...nodes.clients, router: { run } } };
}
