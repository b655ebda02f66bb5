import { Int32, Long } from 'bson';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ReplicaSet, startWholeReplicaSet } from '../../../src/cluster/replica-set.js';
import type { Value } from '../../../src/bson/value.js';
import { doc } from '../../../src/node/doc-fields.js';
import { packFrame } from '../../../src/wire/compression.js';
import { messageFlag, messageBytesMax } from '../../../src/wire/protocol.js';
import { messageFrame, queryFrame } from './frame-samples.js';
import { type Answer, WirePeer } from './wire-peer.js';

describe('a conversation on the wire', () => {
  let set: ReplicaSet;
  let peer: WirePeer;

  beforeAll(async () => {
    set = await startWholeReplicaSet({ noopIntervalMs: 0 });
    peer = await WirePeer.connect(set.member.server.port);
    await ask([
      ['insert', 'c'],
      ['documents', Array.from({ length: 10 }, (_, id) => doc(['_id', new Int32(id)]))],
    ]);
  });

  afterAll(async () => {
    await peer.end();
    await set.close();
  });

  async function ask(fields: [string, Value][], flags = 0): Promise<Answer> {
    const next = peer.answers.length;
    peer.send(messageFrame([...fields, ['$db', 'test']], flags, 100 + next));
    const answer = await peer.answer(next);
    if (answer === undefined) throw new Error('the connection was closed');
    return answer;
  }

  it('a packed message is answered in the same way', async () => {
    const next = peer.answers.length;
    peer.send(
      packFrame(
        messageFrame([
          ['ping', new Int32(1)],
          ['$db', 'test'],
        ]),
      ),
    );
    expect(await peer.answer(next)).toMatchObject({ compressed: true });
  });

  it('offers the compressor that it has', async () => {
    const { body } = await ask([
      ['hello', new Int32(1)],
      ['compression', ['zstd', 'zlib', 'snappy', 'other']],
    ]);
    expect(body.get('compression')).toEqual(['zlib']);
  });

  it('a write that wants no answer is done, and what follows is answered', async () => {
    const next = peer.answers.length;
    peer.send(
      messageFrame(
        [
          ['insert', 'w0'],
          ['documents', [doc(['_id', new Int32(1)])]],
          ['writeConcern', doc(['w', new Int32(0)])],
          ['$db', 'test'],
        ],
        messageFlag.moreToCome,
        7,
      ),
    );
    peer.send(
      messageFrame(
        [
          ['drop', new Int32(5)],
          ['$db', 'test'],
        ],
        messageFlag.moreToCome,
        8,
      ),
    );
    peer.send(
      messageFrame(
        [
          ['count', 'w0'],
          ['$db', 'test'],
        ],
        0,
        9,
      ),
    );
    const answer = await peer.answer(next);
    expect(answer).toMatchObject({ responseTo: 9 });
    expect(answer?.body.get('n')).toEqual(new Int32(1));
  });

  it('an awaited hello continues by itself, and ends with the connection', async () => {
    const other = await WirePeer.connect(set.member.server.port);
    const hello: [string, Value][] = [
      ['hello', new Int32(1)],
      ['$db', 'admin'],
    ];
    other.send(messageFrame(hello, messageFlag.exhaustAllowed));
    const plain = await other.answer(0);
    expect(plain?.flags).toBe(0);
    const awaited: [string, Value][] = [
      ['topologyVersion', plain?.body.get('topologyVersion') ?? null],
      ['maxAwaitTimeMS', new Int32(5)],
    ];
    other.send(messageFrame([...hello, ...awaited], messageFlag.exhaustAllowed, 60));
    const answers = [await other.answer(1), await other.answer(2), await other.answer(3)];
    expect(answers.map((each) => each?.flags)).toEqual(Array.from({ length: 3 }, () => messageFlag.moreToCome));
    expect(answers.map((each) => each?.responseTo)).toEqual([60, answers[0]?.requestId, answers[1]?.requestId]);
    await other.end();
  });

  it.each([
    ['topologyVersion alone', [['topologyVersion', doc(['counter', Long.ONE])]], 31_368],
    ['maxAwaitTimeMS alone', [['maxAwaitTimeMS', new Int32(1)]], 31_368],
    [
      'a negative wait',
      [
        ['topologyVersion', doc(['counter', Long.ONE])],
        ['maxAwaitTimeMS', new Int32(-1)],
      ],
      31_373,
    ],
    [
      'a negative counter',
      [
        ['topologyVersion', doc(['counter', Long.NEG_ONE])],
        ['maxAwaitTimeMS', new Int32(1)],
      ],
      31_372,
    ],
  ] as [string, [string, Value][], number][])('a hello with %s is refused', async (_what, fields, code) => {
    expect((await ask([['hello', new Int32(1)], ...fields])).body.get('code')).toEqual(new Int32(code));
  });

  it('an old query is answered when it is a handshake, and refused by name when it is not', async () => {
    const next = peer.answers.length;
    const query = queryFrame([['isMaster', new Int32(1)]]);
    peer.send(
      query,
      Buffer.from(query.toString('latin1').replace('admin.$cmd', 'admin.coll'), 'latin1'),
      queryFrame([['listDatabases', new Int32(1)]]),
    );
    expect((await peer.answer(next))?.body.get('ismaster')).toBe(true);
    for (const index of [next + 1, next + 2])
      expect((await peer.answer(index))?.body.get('code')).toEqual(new Int32(115));
  });

  it.each([
    ['too short', [15, 1, 0, 2013]],
    ['too long', [messageBytesMax + 1, 1, 0, 2013]],
    ['of an unknown operation', [16, 1, 0, 4]],
    ['of a negative length', [-1, 1, 0, 2013]],
  ])('a message %s ends the connection', async (_what, header) => {
    const other = await WirePeer.connect(set.member.server.port);
    const frame = Buffer.alloc(16);
    header.forEach((value, index) => frame.writeInt32LE(value, 4 * index));
    other.send(frame);
    await other.closed;
    expect(other.answers).toEqual([]);
  });
});
