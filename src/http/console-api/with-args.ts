import type { z } from 'zod'
import { type Outcome, refused } from '../../account/outcome.ts'

/**
 * Does something with what a page has sent, read as the use case has it read for the command line: the contract says what
 * a form may hold, and only these know the one spelling of an e-mail and the references that are not an operator's to give.
 */
export async function withArgs<Schema extends z.ZodType, Value>(
  schema: Schema,
  args: z.input<Schema>,
  run: (args: z.output<Schema>) => Promise<Outcome<Value>>,
): Promise<Outcome<Value>> {
  const read = schema.safeParse(args)
  if (read.success) return run(read.data)
  const [issue] = read.error.issues
  return refused('invalid_arguments', `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'cannot be read'}`)
}
