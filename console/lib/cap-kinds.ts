/** A cap on requests or tokens, not on money. */
export const isQuota = (name: string): name is 'requests_day' | 'tokens_day' => /^(?:requests|tokens)_/.test(name)
