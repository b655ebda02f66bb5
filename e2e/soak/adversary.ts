import type { Random } from '@convoy/cli/demo/random';

/** How badly the network and the servers treat the engine: chances per call, and times. */
export interface Weather {
  /** A call or its answer is late by up to `lateMax_ms`. */
  readonly late: number;
  readonly lateMax_ms: number;
  /** The connection is cut before the command arrives. */
  readonly lostRequest: number;
  /** The connection is cut after the command took effect. */
  readonly lostAnswer: number;
  /** The client sees a cut connection, and the command arrives afterwards. */
  readonly lateRequest: number;
  /** The server refuses with a failure that passes. */
  readonly refused: number;
}

/** Nothing goes wrong. */
export const fairWeather: Weather = {
  late: 0,
  lateMax_ms: 0,
  lostRequest: 0,
  lostAnswer: 0,
  lateRequest: 0,
  refused: 0,
};

/** The kind of a call, which decides its possible faults. */
export type CallKind = 'command' | 'fencedWrite' | 'open' | 'openAtTime' | 'getMore' | 'getMoreAtTime';

/** The fate of one call. */
export interface CallFate {
  readonly request_ms: number;
  readonly answer_ms: number;
  readonly outcome: 'answered' | 'lostRequest' | 'lostAnswer' | 'lateRequest' | 'refused';
  /** How long after the cut the command arrives. */
  readonly lateBy_ms: number;
  /** The failure of a refused call. */
  readonly code: number;
}

/** A round trip in a data centre. */
const usual_ms = 1.5;
/** Fenced writes may wait in a router for long. */
const lateRequestMax_ms = 40_000;
/**
 * NotWritablePrimary, PrimarySteppedDown, ShutdownInProgress, InterruptedDueToReplStateChange, NetworkTimeout,
 * StaleConfig.
 */
const passingCodes = [10107, 189, 91, 11602, 89, 13388] as const;
/** CursorNotFound. */
const lostCursorCodes = [43] as const;
/** SnapshotTooOld, SnapshotUnavailable; only reads at a time meet them. */
const lostSnapshotCodes = [239, 246] as const;
/** QueryPlanKilled, as after a change of the catalog. */
const killedCodes = [43, 239, 175] as const;

/** Failures that only reads meet. */
const codesOfKind: Readonly<Record<CallKind, readonly number[]>> = {
  command: passingCodes,
  fencedWrite: passingCodes,
  open: passingCodes,
  openAtTime: lostSnapshotCodes,
  getMore: lostCursorCodes,
  getMoreAtTime: killedCodes,
};

/** Decides, repeatably, the fate of every call. */
export class Adversary {
  weather: Weather = fairWeather;

  constructor(private readonly random: Random) {}

  /** The fate of the next call. */
  fate(kind: CallKind): CallFate {
    const { weather } = this;
    return {
      request_ms: this.#delay(weather),
      answer_ms: this.#delay(weather),
      outcome: this.#outcome(kind, weather),
      lateBy_ms: this.random.next() * lateRequestMax_ms,
      code: this.#code(kind),
    };
  }

  /** True with the given chance. */
  happens(chance: number): boolean {
    return this.random.next() < chance;
  }

  /** A time up to the given one. */
  upTo(max_ms: number): number {
    return this.random.next() * max_ms;
  }

  #delay({ late, lateMax_ms }: Weather): number {
    return usual_ms * (0.5 + this.random.next()) + (this.happens(late) ? this.upTo(lateMax_ms) : 0);
  }

  #outcome(kind: CallKind, weather: Weather): CallFate['outcome'] {
    if (this.happens(weather.lostRequest)) return 'lostRequest';
    if (this.happens(weather.lostAnswer)) return 'lostAnswer';
    if (this.happens(weather.refused)) return 'refused';
    if (kind === 'fencedWrite' && this.happens(weather.lateRequest)) return 'lateRequest';
    return 'answered';
  }

  #code(kind: CallKind): number {
    const codes = this.happens(0.5) ? codesOfKind[kind] : passingCodes;
    return codes[this.random.below(codes.length)] ?? passingCodes[0];
  }
}
