import type { AddressInfo } from 'node:net';
import { listenOn } from '@convoy/api/http/listen';
import type { Logger } from 'pino';
import type { CoordinatorConfig } from '../config/coordinator-config.js';
import { FleetDirector } from '../director/fleet-director.js';
import type { FleetTimings } from '../fleet/timings.js';
import { createCoordinatorApp } from '../server/coordinator-app.js';

export interface CoordinatorProcessOptions {
  readonly logger: Logger;
  /** Ends the process's work when it is aborted, as `close` does. */
  readonly signal?: AbortSignal;
  readonly timings?: Partial<FleetTimings>;
}

/** A coordinator that is at work. */
export interface RunningCoordinator {
  /** Where the fleet API is served, for example `http://127.0.0.1:27180`. */
  readonly url: string;
  /** Ends all connections and the server; may be called again. */
  close(): Promise<void>;
}

/** The address of a listening server as a URL that a client on this machine can use. */
function urlOf({ address, port, family }: AddressInfo): string {
  const host = ['0.0.0.0', '::'].includes(address) ? '127.0.0.1' : address;
  return `http://${family === 'IPv6' && host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * Starts a coordinator: listens to the fleet and serves its API. It holds no state, so it may end and begin at any time.
 * @throws ConvoyError `redisUnavailable`, `invalidConfiguration`, `addressTaken`
 */
export async function runCoordinator(
  config: CoordinatorConfig,
  options: CoordinatorProcessOptions,
): Promise<RunningCoordinator> {
  const { logger, signal, timings } = options;
  signal?.throwIfAborted();
  const director = new FleetDirector({
    redis: config.redis,
    fleet: config.fleet,
    logger,
    ...(timings === undefined ? {} : { timings }),
  });
  await director.open();
  try {
    const app = await createCoordinatorApp({
      director,
      logger,
      access: { ...config, token: config.token?.reveal(), viewToken: config.viewToken?.reveal() },
    });
    await listenOn(app, config);
    const url = urlOf(app.server.address() as AddressInfo);
    logger.info({ event: 'coordinatorStarted', fleet: config.fleet, url }, 'coordinator listens');
    let closed: Promise<void> | undefined;
    const close = (): Promise<void> => {
      closed ??= app.close().then(() => director.close());
      return closed;
    };
    signal?.addEventListener('abort', () => void close(), { once: true });
    return { url, close };
  } catch (error) {
    await director.close();
    throw error;
  }
}
