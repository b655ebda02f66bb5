import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import type { NotifySettings } from '@convoy/api/configuration/notify-settings';
import type { LogRecord } from '@convoy/api/contract/log-record';
import { listenOn } from '@convoy/api/http/listen';
import type { CoordinatorConfig } from '../config/coordinator-config.js';
import { FleetDirector } from '../director/fleet-director.js';
import { RedisConsole } from '../fleet/redis-console.js';
import type { FleetTimings } from '../fleet/fleet-link.js';
import { createNotifier } from '../notifications/create-notifier.js';
import type { Notifier } from '../notifications/notifier.js';
import type { Outbox } from '../notifications/outbox.js';
import { createCoordinatorApp } from '../server/coordinator-app.js';
import { CoordinatorMetrics } from '../server/fleet-metrics.js';

export interface CoordinatorProcessOptions {
  readonly logger: Logger;
  /** The last warnings and errors of the logger. */
  readonly recentLogs?: () => readonly LogRecord[];
  /** Stops the coordinator when aborted, like `close`. */
  readonly signal?: AbortSignal;
  readonly timings?: Partial<FleetTimings>;
}

/** A running coordinator. */
export interface RunningCoordinator {
  /** Address of the fleet API, for example `http://127.0.0.1:27180`. */
  readonly url: string;
  /** Closes all connections and the server; may be called again. */
  close(): Promise<void>;
}

/** A listening server's address as a URL for clients on the same host. */
function urlOf({ address, port, family }: AddressInfo, scheme: string): string {
  const host = ['0.0.0.0', '::'].includes(address) ? '127.0.0.1' : address;
  return `${scheme}://${family === 'IPv6' && host.includes(':') ? `[${host}]` : host}:${port}`;
}

function notifierOf(
  settings: NotifySettings,
  fleet: string,
  parts: { outbox: Outbox; director: FleetDirector; logger: Logger; metrics: CoordinatorMetrics },
): Notifier {
  const { outbox, director, logger, metrics } = parts;
  const count = (event: string, result: string): void => metrics.notifications.inc({ event, result });
  return createNotifier(settings, { fleet, logger, outbox, snapshot: () => director.snapshot(), count });
}

/**
 * Starts a coordinator: subscribes to the fleet, serves its API and sends its notifications. It holds no state, so it
 * may stop and restart at any time.
 * @throws ConvoyError `redisUnavailable`, `invalidConfiguration`, `addressTaken`
 */
export async function runCoordinator(
  config: CoordinatorConfig,
  options: CoordinatorProcessOptions,
): Promise<RunningCoordinator> {
  const { logger, signal, timings, recentLogs } = options;
  signal?.throwIfAborted();
  const fleet = new RedisConsole({
    redis: config.redis,
    fleet: config.fleet,
    fleetSecret: config.fleetSecret,
    logger,
    ...(timings === undefined ? {} : { timings }),
  });
  const director = new FleetDirector(fleet, logger);
  const metrics = new CoordinatorMetrics();
  await fleet.open();
  try {
    const notifier =
      config.notify && notifierOf(config.notify, config.fleet, { outbox: fleet.outbox, director, logger, metrics });
    const app = await createCoordinatorApp({
      director,
      logger,
      ...(recentLogs === undefined ? {} : { recentLogs }),
      metrics,
      access: { ...config, token: config.token?.reveal(), viewToken: config.viewToken?.reveal() },
    });
    await listenOn(app, config).catch(async (error: unknown) => {
      await app.close();
      throw error;
    });
    const url = urlOf(app.server.address() as AddressInfo, config.tls === undefined ? 'http' : 'https');
    logger.info({ event: 'coordinatorStarted', fleet: config.fleet, url }, 'coordinator is listening');
    let closed: Promise<void> | undefined;
    const close = (): Promise<void> => {
      closed ??= Promise.all([app.close(), notifier?.stop()]).then(() => fleet.close());
      return closed;
    };
    notifier?.start();
    signal?.addEventListener('abort', () => void close(), { once: true });
    return { url, close };
  } catch (error) {
    await fleet.close();
    throw error;
  }
}
