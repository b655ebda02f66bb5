import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { MongoClient } from 'mongodb';
import { Closers } from '@convoy/testbed/closers';

/** Types of BSON: neither value has bytes of its own. */
const [nullType, undefinedType] = [0x0a, 0x06];

/**
 * A client whose documents have `undefined`, the deprecated type, wherever a field of one name is null: the driver can
 * no longer write it. What it sends passes through a relay that changes the byte of the type.
 */
export class UndefinedRelay implements AsyncDisposable {
  private constructor(
    readonly client: MongoClient,
    private readonly closers: Closers,
  ) {}

  /** @param connectionString of a router; its first address is used */
  static async open(connectionString: string, field: string): Promise<UndefinedRelay> {
    const url = new URL(connectionString);
    const [host = '', port = ''] = url.host.split(',')[0]?.split(':') ?? [];
    const closers = new Closers();
    const sockets = new Set<Socket>();
    const server: Server = createServer((from) => {
      const to = connect(Number(port), host);
      for (const socket of [from, to]) sockets.add(socket.on('error', () => socket.destroy()));
      from.on('data', (bytes) => to.write(withUndefined(Buffer.from(bytes), field)));
      to.pipe(from);
      from.on('close', () => to.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.defer(() => {
      for (const socket of sockets) socket.destroy();
      return new Promise<void>((resolve) => server.close(() => resolve()));
    });
    url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = new MongoClient(url.href);
    closers.defer(() => client.close());
    return new UndefinedRelay(client, closers);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.closers[Symbol.asyncDispose]();
  }
}

/** The same bytes with `undefined` for every null of the field. */
function withUndefined(bytes: Buffer, field: string): Buffer {
  const element = Buffer.concat([Buffer.from([nullType]), Buffer.from(`${field}\0`)]);
  for (let at = bytes.indexOf(element); at !== -1; at = bytes.indexOf(element, at + 1))
    bytes.writeUInt8(undefinedType, at);
  return bytes;
}
