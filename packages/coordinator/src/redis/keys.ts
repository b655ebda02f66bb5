import { ConvoyError } from '@convoy/api/errors/convoy-error';

/** A fleet's name is a hash tag, so it must not contain a brace, nor a wildcard of ACL patterns. */
const FLEET_NAME = /^[A-Za-z0-9._-]{1,64}$/;

/** Whether a text is a valid fleet name: 1 to 64 letters, digits, dots, dashes or underscores. */
export function isFleetName(name: string): boolean {
  return FLEET_NAME.test(name);
}

/**
 * @param fleet name of the fleet
 * @param keyPrefix literal prefix of every name
 * @throws ConvoyError `invalidConfiguration` when the name cannot be part of a key
 */
export function fleetKeys(fleet: string, keyPrefix: string) {
  if (!isFleetName(fleet)) {
    throw new ConvoyError(
      'invalidConfiguration',
      'fleet: must be 1 to 64 letters, digits, dots, dashes or underscores.',
    );
  }
  const root = `${keyPrefix}{convoy:${fleet}}`;
  return {
    /** Beginning of all names. */
    root,
    /** Sorted set of instance ids, scored with the server's time (ms) of the last heartbeat. */
    members: `${root}:members`,
    /** Sorted set of instance ids, scored with the server's time (ms) of the last stored report. */
    news: `${root}:news`,
    /** The same of the last report that changes what peers decide by. */
    standings: `${root}:standings`,
    /** The leader's lease. */
    leader: `${root}:leader`,
    /** Channel of reports, for coordinator processes: instances read each other's with their heartbeats. */
    reportsChannel: `${root}:reports`,
    /** Channel of voluntary departures. */
    departuresChannel: `${root}:departures`,
    /** Channel of new or vacant leadership. */
    leaderChannel: `${root}:leader-changes`,
    /** Channel that wakes peers to read the metadata database. */
    wakeChannel: `${root}:wake`,
    /** Channel that announces a later DDL watermark in the metadata database. */
    ddlWatermarkChannel: `${root}:ddlWatermark`,
    /** Set of the events that stand, for notifications. */
    standingEvents: `${root}:events`,
    /** Hash of the notifications that wait for their receivers. */
    deliveries: `${root}:deliveries`,
    /** BullMQ's `prefix` for the command queues. */
    queuePrefix: `${root}:queues`,
    /** The identity lease of an instance id. */
    identity: (id: string) => `${root}:identity:${id}`,
    /** The last report of an instance id. */
    report: (id: string) => `${root}:report:${id}`,
    /** An instance id's published details of a topic. */
    details: (topic: string, id: string) => `${root}:details:${topic}:${id}`,
    /** The latest question of a topic before a start. */
    question: (topic: string) => `${root}:question:${topic}`,
    /** The incarnation that last left voluntarily under an instance id. */
    left: (id: string) => `${root}:left:${id}`,
    /** The claim of an attempt to send a notification. */
    deliveryClaim: (delivery: string) => `${root}:delivering:${delivery}`,
    /** Name of an instance id's command queue; without `:`, which BullMQ does not allow. */
    queueName: (id: string) => `commands-${encodeURIComponent(id)}`,
  };
}

/**
 * Names of a fleet's keys and channels. They share one hash tag, so a Redis Cluster keeps them on one node and scripts
 * may use several; fleets on the same Redis have different tags.
 */
export type FleetKeys = ReturnType<typeof fleetKeys>;
