import { randomUUID } from 'node:crypto';
import type { CommandName } from '@convoy/api/contract/commands';
import { listenOn } from '@convoy/api/http/listen';
import type { ContractService } from '@convoy/api/http/contract-service';
import { acceptCommand } from '@convoy/api/http/accept-command';
import type { CommandResult, Fleet, FleetCommand } from '@convoy/api/fleet/fleet';
import { namedFailure } from '../cluster/named-failure.js';
import { systemClock } from '../async/clock.js';
import type { InstanceConfig } from '../config/instance-schema.js';
import { answerQuestions } from '../lifecycle/commands/answer-questions.js';
import { release } from '../lifecycle/migration/release.js';
import { createRuntime } from '../lifecycle/migration/runtime.js';
import { SyncInstance } from '../lifecycle/sync-instance.js';
import type { Logger } from '../logging/logger.js';
import { RecentLogs } from '../logging/recent-logs.js';
import { Metrics } from '../metrics/metrics.js';
import { createInstanceServer } from '../server/instance-server.js';
import { publishLogs } from './publish-logs.js';

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

/** Executes a command that came through the fleet, with the same checks and answers as one over HTTP. */
export async function carryOut(
  service: Pick<ContractService, CommandName>,
  { commandId, name, body }: FleetCommand,
  awaited_ms?: number,
): Promise<CommandResult> {
  try {
    const { waitingFor } = await acceptCommand(service, name, body, commandId, awaited_ms);
    return { success: true, ...(waitingFor && { waitingFor: [...waitingFor] }) };
  } catch (error) {
    const { error: refusal, errorDescription } = namedFailure(error);
    return { success: false, error: refusal, errorDescription };
  }
}
