/** How to start a Redis server. */
export interface RedisProgram {
  path: string;
  /** Where it was found, for messages. */
  origin: string;
}
