/** A process that serves requests. */
export interface ServiceProcess {
  readonly url: string;
  /** Its log is a file; standard output is for people. */
  readonly logsElsewhere: boolean;
  close(): Promise<void>;
}
