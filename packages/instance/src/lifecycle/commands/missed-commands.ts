import type { Fleet, InstanceReport } from '@convoy/api/fleet/fleet';
import type { ContractService } from '@convoy/api/http/contract-routes';
import { namedFailure } from '../../cluster/named-failure.js';
import { type MissedCommand, missedCommand } from '../../store/fleet-commands.js';
import type { MigrationRecord } from '../../store/migration-record.js';
import type { Runtime } from '../migration/runtime.js';
import type { JoinedMigration } from '../run/joined-migration.js';

/** An instance looks for a missed command this often: one or two small reads while it is IDLE, none while it runs. */
const look_ms = 1_000;
/** Delay after a refusal; it doubles with each further one, since a start checks both clusters anew. */
const retry_ms = 5_000;
const retryMax_ms = 60_000;

/** Takes the commands of the whole fleet that this instance missed: it was away, did not answer, or refused them. */
export class MissedCommands {
  #refused: InstanceReport['refused'];
  #refusedId = '';
  #retryAt_ms = 0;
  #delay_ms = retry_ms;

  /** @param taskId the own sync task */
  constructor(
    private readonly runtime: Runtime,
    private readonly taskId: string,
    private readonly migration: JoinedMigration,
    private readonly service: Pick<ContractService, 'start' | 'pause' | 'resume' | 'reverse'>,
    private readonly fleet: Fleet,
  ) {}

  /** Why the instance cannot take the command that it missed; undefined when there is none. */
  get refused(): InstanceReport['refused'] {
    return this.#refused;
  }

  /** Looks again and again until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.runtime;
    while (!signal.aborted) {
      await this.look(signal).catch((error: unknown) =>
        logger.debug({ event: 'missedCommandsUnread', err: error }, 'cannot look for missed commands, trying again'),
      );
      await clock.sleep(look_ms, signal);
    }
  }

  /** Looks once, and takes what was missed. */
  async look(signal: AbortSignal): Promise<void> {
    const { runtime } = this;
    const view = await this.migration.recorded();
    const missed = view === null ? null : missedCommand(view.record, view.tasks.get(this.taskId));
    if (view === null || missed === null) {
      this.#settle();
      return;
    }
    if (missed.id === this.#refusedId && runtime.clock.monotonic_ms() < this.#retryAt_ms) return;
    if (missed.id !== this.#refusedId) this.#settle();
    // It would take the command for its successor, which would then never learn of it.
    if ((await this.fleet.isReplaced?.()) === true) return;
    try {
      await this.#take(missed, view.record);
      this.#settle();
      runtime.logger.info(
        { event: 'missedCommandTaken', command: missed.name, commandId: missed.id },
        'took a recorded command of the whole fleet',
      );
    } catch (error) {
      if (!signal.aborted) this.#refuse(missed, error);
    }
  }

  /** The options are those of the record, so that no instance starts with others. */
  async #take({ name, id }: MissedCommand, { options }: MigrationRecord): Promise<void> {
    const { service } = this;
    await (name === 'start' ? service.start(options, id) : service[name](id));
  }

  #refuse({ name, id }: MissedCommand, thrown: unknown): void {
    const { clock, logger } = this.runtime;
    const { error, errorDescription } = namedFailure(thrown);
    this.#refused = { command: name, error, errorDescription };
    this.#refusedId = id;
    this.#retryAt_ms = clock.monotonic_ms() + this.#delay_ms;
    logger.warn(
      { event: 'missedCommandRefused', command: name, error, delay_ms: this.#delay_ms, err: thrown },
      'cannot take a recorded command of the whole fleet yet, trying again',
    );
    this.#delay_ms = Math.min(2 * this.#delay_ms, retryMax_ms);
  }

  #settle(): void {
    this.#refused = undefined;
    this.#refusedId = '';
    this.#delay_ms = retry_ms;
  }
}
