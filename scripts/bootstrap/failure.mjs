/** A failure that a person can fix: the cause and the fix, shown without a stack. */
export class Failure extends Error {
  name = 'Failure'

  constructor(message, advice, cause) {
    super(message, { cause })
    this.advice = advice
  }
}

/** Prints the failure to stderr and exits. */
export function fail(error) {
  const text = error instanceof Failure ? `${error.message}\n${error.advice}` : (error?.stack ?? String(error))
  process.stderr.write(`${text}\n`)
  process.exit(1)
}

const WRITE_REFUSED = new Set(['EACCES', 'EPERM', 'EROFS'])

/** Turns a refused write into a `Failure`; other errors stay unchanged. */
export function explainWrite(error, folder) {
  if (!WRITE_REFUSED.has(error?.code)) return error
  return new Failure(
    `Cannot write in ${folder} (${error.code}).`,
    'Run the command once as the owner of this folder, or copy the folder to a writable place.',
    error,
  )
}
