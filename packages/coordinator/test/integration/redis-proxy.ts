import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import type { RedisSettings } from '../../src/redis/redis-settings.js';

/** A way to Redis that a test can cut: for one process this is a partition, for all others it is a death. */
export interface RedisProxy {
  readonly settings: RedisSettings;
  /** How many connections were let through so far. */
  readonly connectionsMade: number;
  /** Breaks all connections and refuses new ones. */
  cut(): void;
  /** Lets nothing through on the present connections and closes none, as a way that loses all packets; new ones work. */
  stall(): void;
  /** Lets connections through again. */
  mend(): void;
  close(): Promise<void>;
}

/** @param settings a single Redis without TLS */
export async function openRedisProxy(settings: RedisSettings): Promise<RedisProxy> {
  if (settings.topology.kind !== 'single') throw new Error('the proxy leads to a single Redis');
  const target = settings.topology.address;
  const sockets = new Set<Socket>();
  let isCut = false;
  let connectionsMade = 0;
  const server = createServer((inward) => {
    if (isCut) {
      inward.destroy();
      return;
    }
    connectionsMade += 1;
    const outward = connect(target.port, target.host);
    for (const [from, to] of [
      [inward, outward],
      [outward, inward],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const cut = (): void => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  return {
    settings: { ...settings, topology: { kind: 'single', address: { host: '127.0.0.1', port } } },
    get connectionsMade() {
      return connectionsMade;
    },
    cut,
    stall: () => {
      for (const socket of sockets) {
        socket.unpipe();
        socket.resume();
      }
    },
    mend: () => {
      isCut = false;
    },
    close: async () => {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
