import { randomUUID } from 'node:crypto';
import type { Fleet } from '@convoy/api/fleet/fleet';
import { createHttpApp, type HttpAppOptions } from '@convoy/api/http/http-app';
import { listenOn } from '@convoy/api/http/listen';
import { METRICS_PATH, metricsReply } from '@convoy/api/http/metrics-reply';
import type { FastifyInstance } from 'fastify';
import { type Clock, systemClock } from '../async/clock.js';
import { namedFailure } from '../cluster/named-failure.js';
import type { InstanceConfig } from '../config/instance-schema.js';
import { answerQuestions } from '../lifecycle/instance/answer-questions.js';
import { release } from '../lifecycle/migration/release.js';
import { createRuntime } from '../lifecycle/migration/runtime.js';
import { carryOut } from '../lifecycle/instance/fleet-command.js';
import { SyncInstance } from '../lifecycle/instance/sync-instance.js';
import type { Logger } from '../logging/logger.js';
import { RecentLogs } from '../logging/recent-logs.js';
import { Metrics } from '../metrics/metrics.js';

/** A running instance. */
export interface RunningInstance {
  /** Base address of its API. */
  url: string;
  close(): Promise<void>;
}

/** The id of an instance without a configured one. */
const loneId = 'single';

/**
 * Starts an instance: takes its identity, listens, connects to both clusters and resumes its part of a migration.
 * @param options.fleet connects it to its peers; closed with the instance
 * @param options.recentLogs receives the lines of the logger, for its peers' readers
 * @throws ConvoyError `identityTaken` while another process with the same id lives, `addressTaken`; the identity is
 *   then released
 */
export async function runInstance(
  config: InstanceConfig,
  options: { fleet: Fleet; logger: Logger; recentLogs?: RecentLogs; metrics?: Metrics },
): Promise<RunningInstance> {
  const { fleet, logger, recentLogs = new RecentLogs(), metrics = new Metrics({ processMetrics: true }) } = options;
  const runtime = createRuntime(config, systemClock, logger, metrics);
  const id = config.id ?? loneId;
  const identity = { id, syncID: id, incarnation: randomUUID(), release };
  await fleet.join(identity);
  const instance = new SyncInstance(runtime, fleet, identity);
  const server = await createInstanceServer({
    service: instance,
    metrics,
    access: {
      listen: config.listen,
      allowedHosts: config.allowedHosts,
      allowUnauthenticated: config.allowUnauthenticated,
      tls: config.tls,
      ...(config.token === undefined ? {} : { token: config.token.reveal() }),
    },
    isReady: () => instance.isReady,
    whyNotReady: () => instance.whyNotReady,
    logger,
  });
  fleet.serve((command, awaited_ms) => carryOut(instance, command, awaited_ms));
  const url = await listenOn(server, config).catch(async (error: unknown) => {
    await fleet.leave();
    throw error;
  });
  const ending = new AbortController();
  const logsPublished = publishLogs(recentLogs, fleet, runtime.clock, ending.signal);
  const answering = answerQuestions(
    runtime,
    fleet,
    { isIdle: () => instance.state === 'IDLE', inventory: (request) => instance.inventory(request) },
    ending.signal,
  );
  logger.info({ event: 'listening', url, id }, 'instance listens');
  void instance.open().catch((error: unknown) => {
    const { error: name, errorDescription } = namedFailure(error);
    if (name === 'shuttingDown') return;
    logger.error({ event: 'openFailed', error: name, err: error }, 'the instance cannot start');
    instance.fail({ error: name, errorDescription });
  });
  return {
    url,
    close: async () => {
      ending.abort();
      // The server waits for its open requests, whose commands only the instance ends.
      await Promise.all([server.close(), instance.close(), logsPublished, answering]);
    },
  };
}

/** Interval of checks for new records. */
const publish_ms = 1_000;
/** Published this often even when nothing is new: Redis may have lost it. */
const republish_ms = 30_000;

/** Publishes the last warnings and errors of this process's log until the signal, and a last time then. */
export async function publishLogs(recent: RecentLogs, fleet: Fleet, clock: Clock, signal: AbortSignal): Promise<void> {
  let published = 0;
  let publishedAt_ms = -Infinity;
  for (;;) {
    const isDue = recent.taken > 0 && clock.monotonic_ms() - publishedAt_ms >= republish_ms;
    if (recent.taken > published || isDue) {
      published = recent.taken;
      publishedAt_ms = clock.monotonic_ms();
      fleet.publishDetails('logs', { records: [...recent.records] });
    }
    if (signal.aborted) return;
    await clock.sleep(publish_ms, signal).catch(() => undefined);
  }
}

export interface InstanceServerOptions extends Omit<HttpAppOptions, 'scope'> {
  metrics: Metrics;
}

/**
 * The HTTP server of an instance: contract, health paths and `/metrics` behind the access guard. It does not listen
 * yet, so that callers can add routes.
 * @throws ConvoyError `invalidConfiguration` for access settings that would let anybody in
 */
export async function createInstanceServer(options: InstanceServerOptions): Promise<FastifyInstance> {
  const { metrics, ...appOptions } = options;
  const app = await createHttpApp({ ...appOptions, scope: 'instance' });
  app.get(METRICS_PATH, async (request, reply) => {
    const { contentType, body } = metricsReply(request.headers.accept, await metrics.registry.metrics());
    void reply.header('content-type', contentType);
    return body;
  });
  return app;
}
