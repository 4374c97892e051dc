/** What Millrace says itself to a model, in the place of somebody who has said nothing, wherever a protocol cannot do without. */

/** The result of a call whose turn was given up before there was one. */
export const ABORTED = 'aborted'

/** Of a call whose result is nothing but what cannot stand in one: that is shown behind it. */
export const RESULT_ELSEWHERE = 'The result is shown below.'

/** In front of what is shown behind a result, and of the name of its tool. */
export const FROM_RESULT = 'From the result of the tool'

/** Of a user who speaks only after the assistant. */
export const USER_BEGINS = 'Begin.'

/** Of a user who leaves the last word to the assistant. */
export const USER_GOES_ON = 'Go on.'

/** For a model that has no way to be made to answer in JSON. */
export const PLEA_FOR_JSON = 'Answer with one JSON object, and with nothing before or behind it.'
