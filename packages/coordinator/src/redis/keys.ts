import { ConvoyError } from '@convoy/api/errors/convoy-error';

/** A fleet's name stands inside a hash tag, so it must not contain a brace, nor a pattern's wildcard for ACL rules. */
const FLEET_NAME = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * Names of all keys and channels of one fleet. They share one hash tag, so a Redis Cluster keeps them on one node and
 * scripts may touch several; another fleet on the same Redis has another tag and never meets them.
 */
export interface FleetKeys {
  /** Sorted set of instance ids, scored with the server's time (ms) of the last heartbeat. */
  readonly members: string;
  /** Sorted set of instance ids, scored with the server's time (ms) of the last report that was stored. */
  readonly news: string;
  /** The leader's lease. */
  readonly leader: string;
  /** Channel of reports, for coordinator processes: instances read each other's with their heartbeats. */
  readonly reportsChannel: string;
  /** Channel of those who leave of their own will. */
  readonly departuresChannel: string;
  /** Channel that tells of a new or a vacant leadership. */
  readonly leaderChannel: string;
  /** Channel that asks peers to look at the metadata database anew. */
  readonly wakeChannel: string;
  /** Channel that asks peers to read in the metadata database how far the source's definition changes are known. */
  readonly ddlWatermarkChannel: string;
  /** BullMQ's `prefix` for the command queues. */
  readonly queuePrefix: string;
  /** The identity lease of an instance id. */
  identity(id: string): string;
  /** The last report of an instance id. */
  report(id: string): string;
  /** What an instance id has posted of a topic. */
  details(topic: string, id: string): string;
  /** The incarnation that left of its own will last under an instance id. */
  left(id: string): string;
  /** Name of the command queue of an instance id; without `:`, which BullMQ does not allow. */
  queueName(id: string): string;
}

/** Whether a text may be a fleet's name: 1 to 64 letters, digits, dots, dashes or underscores. */
export function isFleetName(name: string): boolean {
  return FLEET_NAME.test(name);
}

/**
 * @param fleet name of the fleet
 * @param keyPrefix stands before every name, as it is
 * @throws ConvoyError `invalidConfiguration` when the name cannot be part of a key
 */
export function fleetKeys(fleet: string, keyPrefix: string): FleetKeys {
  if (!isFleetName(fleet)) {
    throw new ConvoyError(
      'invalidConfiguration',
      'fleet: must be 1 to 64 letters, digits, dots, dashes or underscores.',
    );
  }
  const root = `${keyPrefix}{convoy:${fleet}}`;
  return {
    members: `${root}:members`,
    news: `${root}:news`,
    leader: `${root}:leader`,
    reportsChannel: `${root}:reports`,
    departuresChannel: `${root}:departures`,
    leaderChannel: `${root}:leader-changes`,
    wakeChannel: `${root}:wake`,
    ddlWatermarkChannel: `${root}:ddlWatermark`,
    queuePrefix: `${root}:queues`,
    identity: (id) => `${root}:identity:${id}`,
    report: (id) => `${root}:report:${id}`,
    details: (topic, id) => `${root}:details:${topic}:${id}`,
    left: (id) => `${root}:left:${id}`,
    queueName: (id) => `commands-${encodeURIComponent(id)}`,
  };
}
