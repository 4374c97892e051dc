import type { ChatVoice } from '../wire/chat/voice.ts'
import type { ResponsesVoice } from '../wire/responses/voice.ts'

/** What the client of a turn is spoken to in. */
export type TurnVoice = ChatVoice | ResponsesVoice
