/** Why something was refused. The console words what it knows and shows `message` for the rest. */
export interface ConsoleError {
  readonly error: {
    readonly code: string
    readonly message: string
    /** The field of the body or the query that is to blame. */
    readonly param: string | null
    readonly request_id: string
    /** Whole seconds, where trying again later helps. */
    readonly retry_after: number | null
  }
}
