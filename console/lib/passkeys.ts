import type { AnswerOf, BodyOf } from '../../src/contract/console-api.ts'
import { ConsoleProblem } from './console-problem.ts'

/** What the API sends and takes as base64url, and browsers as bytes. */
const toBytes = (text: string) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0))

const toText = (bytes: ArrayBuffer): string =>
  btoa(Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join(''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

const descriptors = (ids: readonly string[]) => ids.map((id) => ({ type: 'public-key' as const, id: toBytes(id) }))

/** Signs a challenge with a passkey of this device. Throws a `ConsoleProblem` if the person cancels. */
export async function signChallenge({
  challenge,
  rp_id: rpId,
  allow,
}: AnswerOf<'POST /session/challenge'>): Promise<BodyOf<'POST /session/passkey'>> {
  const publicKey = { challenge: toBytes(challenge), rpId, userVerification: 'required' as const }
  const credential = await navigator.credentials
    .get({ publicKey: { ...publicKey, allowCredentials: descriptors(allow) } })
    .catch(refuseNotGiven)
  if (!(credential instanceof PublicKeyCredential)) throw notGiven()
  const response = credential.response as AuthenticatorAssertionResponse
  return {
    id: credential.id,
    client_data: toText(response.clientDataJSON),
    authenticator_data: toText(response.authenticatorData),
    signature: toText(response.signature),
    user_handle: response.userHandle === null ? null : toText(response.userHandle),
  }
}

/** ES256, Ed25519 and RS256, which the server can check. */
const ALGORITHMS = [-7, -8, -257]

/** Makes a passkey, which the device can find by itself and guards with a PIN, a finger or a face. */
export async function makePasskey(
  asked: AnswerOf<'POST /passkeys/challenge'>,
): Promise<Omit<BodyOf<'POST /passkeys'>, 'name'>> {
  const publicKey: PublicKeyCredentialCreationOptions = {
    challenge: toBytes(asked.challenge),
    rp: { id: asked.rp_id, name: asked.rp_name },
    user: { id: toBytes(asked.user_id), name: asked.user_name, displayName: asked.user_name },
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    attestation: 'none',
    excludeCredentials: descriptors(asked.exclude),
  }
  const credential = await navigator.credentials.create({ publicKey }).catch(refuseNotGiven)
  if (!(credential instanceof PublicKeyCredential)) throw notGiven()
  const response = credential.response as AuthenticatorAttestationResponse
  return {
    id: credential.id,
    client_data: toText(response.clientDataJSON),
    attestation: toText(response.attestationObject),
    transports: response.getTransports().slice(0, 10),
  }
}

/** The browser does not tell a cancelled dialog from a device without a passkey. */
const notGiven = () => new ConsoleProblem(0, { code: 'no_passkey', message: 'No passkey was given.' })

const refuseNotGiven = (error: unknown): never => {
  if (error instanceof DOMException && error.name === 'InvalidStateError')
    throw new ConsoleProblem(0, { code: 'passkey_known', message: 'This device has a passkey already.' })
  throw notGiven()
}
