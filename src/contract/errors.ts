import { z } from 'zod'

/** Why something was refused. The console words what it knows and shows `message` for the rest. */
const consoleError = z.strictObject({
  error: z.strictObject({
    code: z.string(),
    message: z.string(),
    /** The field of the body or the query that is to blame. */
    param: z.string().nullable(),
    request_id: z.string(),
    /** Whole seconds, where trying again later helps. */
    retry_after: z.int().nullable(),
  }),
})
export type ConsoleError = z.infer<typeof consoleError>
