import { Int32 } from 'bson';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ReplicaSet, startReplicaSet } from '../../../src/cluster/replica-set.js';
import { brokenFrame, messageFrame, soundFrames } from './frame-samples.js';
import { WirePeer } from './wire-peer.js';

const ping = messageFrame([['ping', new Int32(1)], ['$db', 'admin']], 0, 4711);
const propertyMs = 120_000;

describe('broken messages', () => {
  let set: ReplicaSet;

  beforeAll(async () => {
    set = await startReplicaSet();
  });

  afterAll(() => set.close());

  async function expectAlive(): Promise<void> {
    const peer = await WirePeer.connect(set.member.server.port);
    peer.send(ping);
    expect((await peer.answer(0))?.responseTo).toBe(4711);
    await peer.end();
  }

  it('sound ones are answered, all but those that want no answer', async () => {
    const peer = await WirePeer.connect(set.member.server.port);
    for (const frame of soundFrames) peer.send(frame);
    peer.send(ping);
    for (let index = 0; peer.answers.at(-1)?.responseTo !== 4711; index += 1) await peer.answer(index);
    expect(peer.answers.length).toBe(soundFrames.length);
    expect(peer.answers.every(({ body }) => body.has('ok'))).toBe(true);
    await peer.end();
  });

  it('property: are answered, or end the connection, and harm nobody else', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(brokenFrame, { minLength: 1, maxLength: 3 }), async (frames) => {
        const peer = await WirePeer.connect(set.member.server.port);
        peer.send(...frames);
        await peer.end();
        await expectAlive();
      }),
      { numRuns: 500 },
    );
    expect(set.member.server.connectionCount).toBeLessThanOrEqual(1);
  }, propertyMs);
});
