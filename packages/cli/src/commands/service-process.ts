/** A process that serves requests. */
export interface ServiceProcess {
  readonly url: string;
  close(): Promise<void>;
}
