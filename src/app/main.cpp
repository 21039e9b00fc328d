#include <iostream>

int main() {
  std::cerr << "mlxforge: no command yet\n";
  return 2;
}
