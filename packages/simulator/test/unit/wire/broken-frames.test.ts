import { Int32 } from 'bson';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Doc } from '../../../src/bson/value.js';
import { startWholeCluster } from '../../../src/cluster/cluster.js';
import { startWholeReplicaSet } from '../../../src/cluster/replica-set.js';
import { numberOf } from '../../../src/node/doc-fields.js';
import type { WireServer } from '../../../src/wire/wire-server.js';
import { FrameSplitter } from '../../../src/wire/frame-splitter.js';
import { isFullRun } from '../../../../../test/seed.js';
import { brokenFrame, messageFrame, soundFrames } from './frame-samples.js';
import { WirePeer } from './wire-peer.js';

const ping = messageFrame(
  [
    ['ping', new Int32(1)],
    ['$db', 'admin'],
  ],
  0,
  4711,
);
const propertyMs = 120_000;

interface Served {
  readonly server: WireServer | undefined;
  close(): Promise<void>;
}

const nodes: readonly [string, () => Promise<Served>][] = [
  [
    'a member of a replica set',
    async () => {
      const set = await startWholeReplicaSet();
      return { server: set.member.server, close: () => set.close() };
    },
  ],
  [
    'a router with access control',
    async () => {
      const cluster = await startWholeCluster({
        shards: 1,
        auth: { users: [{ user: 'root', password: 'x', roles: ['root'] }] },
      });
      return { server: cluster.routerMembers[0]?.server, close: () => cluster.close() };
    },
  ],
];

/** Failures that the simulator did not foresee are reported under this code, as the server reports its own. */
function isUnknownError(body: Doc): boolean {
  return numberOf(body.get('code')) === 8;
}

/**
 * True when the server sees the ping behind the frames as a message, and therefore must answer it or have ended the
 * connection.
 */
function endsWithPing(frames: readonly Buffer[]): boolean {
  const splitter = new FrameSplitter();
  try {
    splitter.push(Buffer.concat(frames));
    return splitter.push(ping)[0]?.equals(ping) === true;
  } catch {
    return true;
  }
}

/** Waits for the answer to the ping, or the end of the connection. */
async function lastAnswer(peer: WirePeer): Promise<void> {
  for (let index = 0; ; index += 1) {
    const answer = await peer.answer(index);
    if (answer === undefined || answer.responseTo === 4711) return;
  }
}

describe.each(nodes)('broken messages to %s', (_name, start) => {
  let served: Served;
  let port: number;

  beforeAll(async () => {
    served = await start();
    port = served.server?.port ?? 0;
  });

  afterAll(() => served.close());

  async function expectAlive(): Promise<void> {
    const peer = await WirePeer.connect(port);
    peer.send(ping);
    expect((await peer.answer(0))?.responseTo).toBe(4711);
    await peer.end();
  }

  it('sound ones are answered, all but those that want no answer', async () => {
    const peer = await WirePeer.connect(port);
    for (const frame of soundFrames) peer.send(frame);
    peer.send(ping);
    await lastAnswer(peer);
    expect(peer.answers.length).toBe(soundFrames.length);
    expect(peer.answers.every(({ body }) => body.has('ok'))).toBe(true);
    await peer.end();
  });

  it(
    'property: are answered, or end the connection, and harm nobody else',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(brokenFrame, { minLength: 1, maxLength: 3 }), async (frames) => {
          const peer = await WirePeer.connect(port);
          peer.send(...frames, ping);
          if (endsWithPing(frames)) await lastAnswer(peer);
          await peer.end();
          expect(peer.answers.filter(({ body }) => isUnknownError(body)).map(({ body }) => body.get('errmsg'))).toEqual(
            [],
          );
          await expectAlive();
        }),
        { numRuns: isFullRun ? 1000 : 400 },
      );
    },
    propertyMs,
  );
});
