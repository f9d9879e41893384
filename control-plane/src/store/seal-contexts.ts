/** What a sealed value says that it is and whose: it opens under no other context. */
export const sealContexts = Object.freeze({
  authority: 'authority',
  privateKey: (publicKeyId: string) => `private key ${publicKeyId}`,
  secondFactor: (user: string) => `second-factor ${user}`,
  answer: (idempotencyKey: string) => `answer under ${idempotencyKey}`,
})
