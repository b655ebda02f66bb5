/** Order of a process with fleet members: the only argument, as JSON. */
export interface MemberOrder {
  redis: string;
  fleet: string;
  /** Ids of the members of this process. */
  ids: readonly string[];
  /** Ids of the whole fleet. */
  allIds: readonly string[];
  /** Connection strings for members that sync; without them they only report. */
  clusters?: { cluster0: string; cluster1: string };
}

/** Calls of engines to the destination's metadata database since the start of the process. */
export interface MetadataCalls {
  /** Commands by name, for example `find tasks`. */
  commands: Record<string, number>;
  /** Bytes of the replies to `find`. */
  bytesRead: number;
}

/** What a member process answers to `GET /state`. */
export interface MemberState {
  /** Ids of its members that hold the leader lease. */
  leads: string[];
  metadata: MetadataCalls;
}

/** What it answers to `POST /mark`: a value that its first member reports from now on, and when it did so. */
export interface Mark {
  id: string;
  totalEventsApplied: number;
  /** Milliseconds since 1970. */
  at_ms: number;
}
