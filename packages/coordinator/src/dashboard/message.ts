import type { FleetInstance, FleetProgress } from '@convoy/api/contract/fleet-progress';
import type { Failure } from '@convoy/api/fleet/fleet';
import type { InstanceStats } from '@convoy/api/fleet/instance-stats';
import type { commandsReplySchema, namespacesReplySchema } from '@convoy/api/contract/watching';
import type { z } from 'zod';

/** One instance on the dashboard. */
export interface InstanceView extends FleetInstance {
  readonly stats: InstanceStats | null;
  readonly sourcePingMs: number | null;
  readonly destinationPingMs: number | null;
}

/** The dashboard's fleet. It uses objects, not arrays, for parts that change, since only changes are sent. */
export interface FleetMessage {
  /** By the clock of the coordinator process. */
  readonly now_ms: number;
  /** Whether that process receives the fleet's messages. */
  readonly isConnected: boolean;
  readonly leaderId: string | null;
  readonly expectedIds: readonly string[];
  readonly failure: Failure | null;
  readonly progress: Omit<FleetProgress, 'instances'>;
  readonly instances: Readonly<Record<string, InstanceView>>;
  /** Number of commands sent through this process. */
  readonly commandsSent: number;
}

/** The reply of `GET /api/v1/namespaces`. */
export type NamespacesReply = z.output<typeof namespacesReplySchema>;
/** One collection over all instances. */
export type NamespaceView = NamespacesReply['rows'][number];

/** One entry of the reply of `GET /api/v1/commands`. */
export type CommandView = z.output<typeof commandsReplySchema>['commands'][number];
