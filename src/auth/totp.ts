import { createHmac, timingSafeEqual } from 'node:crypto'

/** Codes of authenticator apps: RFC 6238 with SHA-1, 30 seconds and six digits, which is what every app supports. */
const STEP_MS = 30_000
const DIGITS = 6
/** RFC 4226, section 4: at least 128 bits, and 160 recommended. */
export const TOTP_SECRET_BYTES = 20
/** A clock that is up to half a minute wrong, and the time that a person needs to type. */
const STEPS_AROUND = [0, -1, 1]

export const isTotpCode = (text: string): boolean => /^\d{6}$/.test(text)

/** The code of a time step (RFC 4226, section 5.3). */
export function totpCode(secret: Uint8Array, step: number, digits = DIGITS): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const value = mac.readUInt32BE(mac.at(-1)! & 15) & 0x7fffffff
  return String(value % 10 ** digits).padStart(digits, '0')
}

export const totpStepAt = (now: number): number => Math.floor(now / STEP_MS)

/** The step of a right code that is newer than the last accepted one; undefined if it is wrong or was used. */
export function findTotpStep(secret: Uint8Array, code: string, { now, after }: { now: number; after: number }) {
  const typed = Buffer.from(code)
  const steps = STEPS_AROUND.map((around) => totpStepAt(now) + around)
  return steps.find((step) => {
    const right = Buffer.from(totpCode(secret, step))
    return step > after && right.length === typed.length && timingSafeEqual(right, typed)
  })
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** RFC 4648 without padding, as authenticator apps take it. */
export function writeTotpSecret(secret: Uint8Array): string {
  const bits = [...secret].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? []).map((five) => BASE32[Number.parseInt(five.padEnd(5, '0'), 2)]).join('')
}

/** The address that a QR code has. `label` is what the app shows: the server and the person. */
export function totpUri(secret: Uint8Array, { issuer, person }: { issuer: string; person: string }): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(person)}`
  return `otpauth://totp/${label}?secret=${writeTotpSecret(secret)}&issuer=${encodeURIComponent(issuer)}`
}
