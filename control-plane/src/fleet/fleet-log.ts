/** What the fleet server needs of a logger; pino's fits. */
export interface FleetLog {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
