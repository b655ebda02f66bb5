import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LinkFaults } from '../../../src/faults/link-faults.js';

describe('a faulty link', () => {
  let server: Server;
  let near: Socket;
  let far: Socket;
  let received: Buffer[];

  beforeEach(async () => {
    server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const accepted = once(server, 'connection');
    far = connect((server.address() as AddressInfo).port, '127.0.0.1');
    [near] = (await accepted) as [Socket];
    received = [];
    far.on('data', (chunk: Buffer) => received.push(chunk));
  });

  afterEach(() => {
    near.destroy();
    far.destroy();
    server.close();
  });

  const signal = new AbortController().signal;
  const message = Buffer.from('0123456789');

  async function sent(faults: LinkFaults, command: string): Promise<string> {
    const whole = await faults.send(near, message, command, signal);
    const ended = once(far, 'end');
    near.end();
    await ended;
    return `${Buffer.concat(received).toString()}${whole ? '' : '|'}`;
  }

  it('sends everything while nothing is set', async () => {
    const faults = new LinkFaults();
    expect(faults.active).toBe(false);
    expect(await sent(faults, 'find')).toBe('0123456789');
  });

  it('cuts within the answer to one command, once', async () => {
    const faults = new LinkFaults();
    faults.cutWithinReply('insert', 4);
    expect(await faults.send(near, message, 'find', signal)).toBe(true);
    expect(await sent(faults, 'insert')).toBe('01234567890123|');
    expect(faults.active).toBe(false);
  });

  it('never sends the whole of an answer that it cuts', async () => {
    const faults = new LinkFaults();
    faults.cutWithinReply('find', 1000);
    expect(await sent(faults, 'find')).toBe('012345678|');
  });

  it('cuts after bytes of all connections, in either direction', async () => {
    const faults = new LinkFaults();
    faults.cutAfterBytes(13);
    expect(faults.admitted(100)).toBe(100);
    expect(await faults.send(near, message, 'find', signal)).toBe(true);
    expect(await sent(faults, 'find')).toBe('0123456789012|');
    faults.cutAfterBytes(7, 'received');
    expect([faults.admitted(5), faults.admitted(5), faults.admitted(5)]).toEqual([5, 2, 5]);
  });

  it('sends in pieces when it is slow', async () => {
    const faults = new LinkFaults();
    faults.bytesPerSecond = 250;
    const started = Date.now();
    expect(await sent(faults, 'find')).toBe('0123456789');
    expect(Date.now() - started).toBeGreaterThanOrEqual(15);
  });
});
