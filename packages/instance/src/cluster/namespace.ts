/** The full name of a collection or view on a cluster. */
export interface Namespace {
  readonly database: string;
  readonly name: string;
}
