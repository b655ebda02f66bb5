/** How urgently the tokens of a stream without events are needed. */
export interface StreamPatience {
  /** A commit waits for them. */
  isAwaited(): boolean;
  /** All tasks have been idle for some time. */
  isIdle(): boolean;
}
