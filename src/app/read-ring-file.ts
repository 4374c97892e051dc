import { z } from 'zod'

/** A secret as `keyring.json` has it: in base64url. */
export interface RingFileKey {
  readonly id: string
  readonly secret: string
}

const ringFile = z.strictObject({
  version: z.literal(1),
  primary: z.string(),
  keys: z.array(z.strictObject({ id: z.string().min(1), secret: z.string().regex(/^[\w-]{43,}$/) })).min(1),
})

/** The keys, the primary one first. Somebody who rotates the ring writes it by hand, so a fault is told with its place. */
export function readRingFile(path: string, text: string): readonly [RingFileKey, ...RingFileKey[]] {
  const refuse = (fault: string): never => {
    throw new Error(
      `${path} is not a key ring: ${fault}. Mend it, or restore it from a backup: ` +
        'nothing that it sealed can be read without it.',
    )
  }
  const read = ringFile.safeParse(parseQuietly(text))
  if (!read.success) return refuse(faultOf(read.error))
  const { keys, primary: named } = read.data
  if (new Set(keys.map(({ id }) => id)).size < keys.length) return refuse('two of its keys have the same id')
  const primary = keys.find(({ id }) => id === named)
  if (primary === undefined) return refuse('"primary" is the id of none of its keys')
  return [primary, ...keys.filter((key) => key !== primary)]
}

/** The parser's own message quotes the text, which is the secret. */
function parseQuietly(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Its place only: what stands there may be a secret, even a name of a field. */
function faultOf({ issues: [issue] }: z.ZodError): string {
  const path = issue?.path ?? []
  if (path.length === 0) return 'its text is not JSON with version, primary and keys'
  if (path.at(-1) === 'secret') return `${path.join('.')} is not 43 or more letters of base64url`
  return `${path.join('.')} is not what it has to be`
}
