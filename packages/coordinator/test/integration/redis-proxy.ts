import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import type { RedisSettings } from '../../src/redis/redis-settings.js';

/** A proxy to Redis that a test can cut: for one process this is a partition, for all others its death. */
export interface RedisProxy {
  readonly settings: RedisSettings;
  /** Number of accepted connections. */
  readonly connectionsMade: number;
  /** Breaks all connections and rejects new ones. */
  cut(): void;
  /**
   * Drops everything on the open connections without closing them, like a network that loses all packets; new ones
   * work.
   */
  stall(): void;
  /** Accepts connections again. */
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
