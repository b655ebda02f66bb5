import { ConvoyError } from '@convoy/api/errors/convoy-error';

/** A fleet's name is a hash tag, so it must not contain a brace, nor a wildcard of ACL patterns. */
const FLEET_NAME = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * Names of a fleet's keys and channels. They share one hash tag, so a Redis Cluster keeps them on one node and scripts
 * may use several; fleets on the same Redis have different tags.
 */
export interface FleetKeys {
  /** Beginning of all names. */
  readonly root: string;
  /** Sorted set of instance ids, scored with the server's time (ms) of the last heartbeat. */
  readonly members: string;
  /** Sorted set of instance ids, scored with the server's time (ms) of the last stored report. */
  readonly news: string;
  /** The same of the last report that changes what peers decide by. */
  readonly standings: string;
  /** The leader's lease. */
  readonly leader: string;
  /** Channel of reports, for coordinator processes: instances read each other's with their heartbeats. */
  readonly reportsChannel: string;
  /** Channel of voluntary departures. */
  readonly departuresChannel: string;
  /** Channel of new or vacant leadership. */
  readonly leaderChannel: string;
  /** Channel that wakes peers to read the metadata database. */
  readonly wakeChannel: string;
  /** Channel that announces a later DDL watermark in the metadata database. */
  readonly ddlWatermarkChannel: string;
  /** Set of the events that stand, for notifications. */
  readonly standingEvents: string;
  /** Hash of the notifications that wait for their receivers. */
  readonly deliveries: string;
  /** BullMQ's `prefix` for the command queues. */
  readonly queuePrefix: string;
  /** The identity lease of an instance id. */
  identity(id: string): string;
  /** The last report of an instance id. */
  report(id: string): string;
  /** An instance id's published details of a topic. */
  details(topic: string, id: string): string;
  /** The latest question of a topic before a start. */
  question(topic: string): string;
  /** The incarnation that last left voluntarily under an instance id. */
  left(id: string): string;
  /** The claim of an attempt to send a notification. */
  deliveryClaim(delivery: string): string;
  /** Name of an instance id's command queue; without `:`, which BullMQ does not allow. */
  queueName(id: string): string;
}

/** Whether a text is a valid fleet name: 1 to 64 letters, digits, dots, dashes or underscores. */
export function isFleetName(name: string): boolean {
  return FLEET_NAME.test(name);
}

/**
 * @param fleet name of the fleet
 * @param keyPrefix literal prefix of every name
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
    root,
    members: `${root}:members`,
    news: `${root}:news`,
    standings: `${root}:standings`,
    leader: `${root}:leader`,
    reportsChannel: `${root}:reports`,
    departuresChannel: `${root}:departures`,
    leaderChannel: `${root}:leader-changes`,
    wakeChannel: `${root}:wake`,
    ddlWatermarkChannel: `${root}:ddlWatermark`,
    standingEvents: `${root}:events`,
    deliveries: `${root}:deliveries`,
    queuePrefix: `${root}:queues`,
    identity: (id) => `${root}:identity:${id}`,
    report: (id) => `${root}:report:${id}`,
    details: (topic, id) => `${root}:details:${topic}:${id}`,
    question: (topic) => `${root}:question:${topic}`,
    left: (id) => `${root}:left:${id}`,
    deliveryClaim: (delivery) => `${root}:delivering:${delivery}`,
    queueName: (id) => `commands-${encodeURIComponent(id)}`,
  };
}
