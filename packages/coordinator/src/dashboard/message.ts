import type { FleetInstance, FleetProgress } from '@convoy/api/contract/fleet-progress';
import type { Failure } from '@convoy/api/fleet/fleet';
import type { InstanceStats } from '@convoy/api/fleet/instance-stats';
import type { NamespacePart } from '@convoy/api/fleet/published-details';

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

/** One collection over all instances. */
export interface NamespaceView extends NamespacePart {
  /** Instances with a part of it. */
  readonly instances: number;
}

/** The reply of `GET /api/v1/namespaces`. */
export interface NamespacesReply {
  readonly success: true;
  readonly total: number;
  /** Number of collections that match the search, and the position of the first row among them. */
  readonly matching: number;
  readonly offset: number;
  readonly rows: readonly NamespaceView[];
  /** Sums of matching collections outside the rows, including those that instances did not list. */
  readonly others: {
    readonly collections: number;
    readonly totalBytes: number;
    readonly copiedBytes: number;
    readonly copiedDocuments: number;
  };
}

/** One entry of the reply of `GET /api/v1/commands`. */
export interface CommandView {
  readonly commandId: string;
  readonly at_ms: number;
  readonly name: string;
  readonly success: boolean;
  readonly results: Readonly<
    Record<string, { readonly success: boolean; readonly error?: string; readonly errorDescription?: string }>
  >;
  /** Instances without a reply that take the recorded command by themselves. */
  readonly waitingFor: readonly string[];
}
