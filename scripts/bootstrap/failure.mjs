/** Something a person can put right: what is wrong, and what to do about it. Shown without a stack. */
export class Failure extends Error {
  name = 'Failure'

  constructor(message, cure, cause) {
    super(message, { cause })
    this.cure = cure
  }
}

/** Says what went wrong on stderr and ends the process. */
export function fail(error) {
  const text = error instanceof Failure ? `${error.message}\n${error.cure}` : (error?.stack ?? String(error))
  process.stderr.write(`${text}\n`)
  process.exit(1)
}

const WRITE_REFUSED = new Set(['EACCES', 'EPERM', 'EROFS'])

/** Turns a refused write into a sentence; everything else stays what it was. */
export function explainWrite(error, folder) {
  if (!WRITE_REFUSED.has(error?.code)) return error
  return new Failure(
    `Cannot write in ${folder} (${error.code}).`,
    'Run the command once as the owner of this folder, or copy the folder to a place you may write to.',
    error,
  )
}
