import { Int32 } from 'bson';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Doc, Value } from '../../../src/bson/value.js';
import { MemberLink } from '../../../src/config/member-link.js';
import { NodeIdentity } from '../../../src/every-node/node-identity.js';
import type { CommandNode, CommandRequest } from '../../../src/node/command.js';
import { doc } from '../../../src/node/doc-fields.js';
import { internalRequest } from '../../../src/node/internal-request.js';

/** A node that answers on request. */
class Held implements CommandNode {
  readonly waiting: ((reply: Doc) => void)[] = [];

  run(): Promise<Doc> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  answer(): void {
    this.waiting.shift()?.(new Map());
  }
}

describe('the way to a member', () => {
  let held: Held;
  let identity: NodeIdentity;
  let link: MemberLink;

  beforeEach(() => {
    held = new Held();
    identity = new NodeIdentity('shard', '127.0.0.1', 1, 's0', undefined);
    link = new MemberLink(held, identity, 30);
  });

  const request = (name: string, fields: Doc = new Map()): CommandRequest =>
    internalRequest('db', new Map<string, Value>([[name, 'c'], ...fields]));

  it('loses what is on its way when the member stops', async () => {
    const insert = link.run(request('insert'));
    const more = link.run(request('getMore'));
    await new Promise((resolve) => setImmediate(resolve));
    link.break();
    await expect(insert).rejects.toMatchObject({ code: 6 });
    await expect(more).rejects.toMatchObject({ code: 6 });
  });

  it('repeats reads and retryable writes', async () => {
    const read = link.run(request('find'));
    const write = link.run(request('insert', doc(['txnNumber', new Int32(1)])));
    await new Promise((resolve) => setImmediate(resolve));
    held.waiting.length = 0;
    link.break();
    await new Promise((resolve) => setImmediate(resolve));
    held.answer();
    held.answer();
    await Promise.all([read, write]);
  });

  it('waits for a primary, but not for ever', async () => {
    identity.role.stepDown();
    const early = link.run(request('find'));
    identity.role.elect();
    await new Promise((resolve) => setImmediate(resolve));
    held.answer();
    await early;
    identity.condition.setRunning(false);
    await expect(link.run(request('find'))).rejects.toMatchObject({ code: 133 });
    expect(() => link.refuseStopped()).toThrow(expect.objectContaining({ code: 6 }) as Error);
  });
});
