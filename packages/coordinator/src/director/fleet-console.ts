import type { Warning } from '@convoy/api/contract/progress';
import type { CommandResult, FleetCommand, Leader, SeenReport } from '@convoy/api/fleet/fleet';
import type { DetailTopic, PublishedDetails } from '@convoy/api/fleet/published-details';
import type { QuestionTopic, StartQuestion } from '@convoy/api/fleet/start-question';
import type { Outbox } from '../notifications/outbox.js';

/** All that a coordinator process needs of its fleet, without being a member; instances have `Fleet`. */
export interface FleetConsole {
  /** The fleet's notifications. */
  readonly outbox: Outbox;
  /** Silence in milliseconds after which the report of an instance is no longer fresh. */
  readonly freshFor_ms: number;

  /**
   * Begins to hear the fleet.
   * @throws ConvoyError `redisUnavailable`; everything is then closed
   */
  open(): Promise<void>;
  close(): Promise<void>;

  /** Whether the fleet can be heard and commanded, as far as this process knows. */
  isConnected(): boolean;
  /** Why it cannot, and what to do, as far as known; without addresses. */
  readonly whyDisconnected: string | null;

  /** Calls the listener after every change. Returns the function that unsubscribes. */
  watch(listener: () => void): () => void;
  /** The last report of every known instance, by its id. */
  reports(): ReadonlyMap<string, SeenReport>;
  leader(): Leader | null;
  /** Milliseconds since an instance's last sign of life, by this process's clock; infinite when it has left. */
  silent_ms(id: string): number;
  /** What this process knows about the protection of the fleet's messages. */
  warnings(): Warning[];
  /** Number of messages without a valid signature, by reason. */
  refusedMessages(): ReadonlyMap<string, number>;

  /**
   * Sends a command to instances, and waits for their replies. Repeating it under the same id only waits for them.
   * @param limit_ms an instance that receives the command later does not run it
   * @returns each instance's reply by id; `commandTimedOut` for one without a reply in time
   * @throws ConvoyError `redisUnavailable` when nothing was sent
   */
  send(command: FleetCommand, ids: readonly string[], limit_ms: number): Promise<Map<string, CommandResult>>;

  /**
   * The latest details of a topic that instances have published, with their ids, one after the other: they are large
   * together. Missing and unreadable ones are left out.
   * @throws ConvoyError `redisUnavailable`
   */
  details<Topic extends DetailTopic>(topic: Topic): AsyncGenerator<[id: string, details: PublishedDetails[Topic]]>;
  /**
   * Puts a question to the leader; an earlier one of the topic is forgotten.
   * @throws ConvoyError `redisUnavailable`
   */
  ask(topic: QuestionTopic, question: StartQuestion): Promise<void>;
}
